/* SPDX-License-Identifier: BSD-2-Clause */
/* Errata of each CPU, and the reading of packets that errata damage. */
#include "flow/segment/errata.h"

/* Family and model in one number: 0x65e is model 0x5e of family 6. */
#define CPU(family, model) ((uint32_t)(family) << 8 | (model))

#define MODELS_MAX 20

/*
 * As in libipt 2.2 (pt_cpu_errata), for CPUs until 2025. Products that libipt leaves out (Lakefield, Alder Lake N,
 * Bartlett Lake) have the errata of products with the same cores.
 */
static const struct {
	struct flow_errata errata;
	uint32_t cpus[MODELS_MAX]; /* ends at the first 0 */
} known[] = {
	/* Broadwell */
	{{.bdm64 = true}, {CPU(6, 0x3d), CPU(6, 0x47), CPU(6, 0x4f), CPU(6, 0x56)}},
	/* Skylake, Kaby Lake, Coffee Lake, Comet Lake */
	{{.skd007 = true, .skd010 = true, .skd022 = true, .skl014 = true, .skl168 = true},
	 {CPU(6, 0x4e), CPU(6, 0x5e), CPU(6, 0x8e), CPU(6, 0x9e), CPU(6, 0xa5), CPU(6, 0xa6)}},
	/* Servers: Skylake to Cooper Lake, Ice Lake, Sapphire, Emerald, Granite and Diamond Rapids */
	{{.skd022 = true, .skl014 = true, .skz84 = true},
	 {CPU(6, 0x55), CPU(6, 0x6a), CPU(6, 0x6c), CPU(6, 0x8f), CPU(6, 0xcf), CPU(6, 0xad), CPU(6, 0xae),
	  CPU(0x13, 0x01)}},
	/* Cannon Lake, Ice Lake, Tiger Lake, Rocket Lake */
	{{.skd022 = true, .skl014 = true},
	 {CPU(6, 0x66), CPU(6, 0x7d), CPU(6, 0x7e), CPU(6, 0x8c), CPU(6, 0x8d), CPU(6, 0xa7), CPU(6, 0xa8)}},
	/* Lakefield, Alder Lake, Raptor Lake, Bartlett Lake, Meteor Lake, Arrow Lake, Lunar Lake, Panther Lake,
	   Wildcat Lake, Nova Lake */
	{{.skd022 = true, .skl014 = true, .apl11 = true},
	 {CPU(6, 0x8a), CPU(6, 0x97), CPU(6, 0x9a), CPU(6, 0xb7), CPU(6, 0xba), CPU(6, 0xbf), CPU(6, 0xd7),
	  CPU(6, 0xaa), CPU(6, 0xac), CPU(6, 0xb5), CPU(6, 0xc5), CPU(6, 0xc6), CPU(6, 0xbd), CPU(6, 0xcc),
	  CPU(6, 0xd5), CPU(0x12, 0x01), CPU(0x12, 0x03)}},
	/* Goldmont, then Goldmont for servers */
	{{.apl11 = true, .apl12 = true, .nlip = true}, {CPU(6, 0x5c)}},
	{{.apl11 = true, .apl12 = true}, {CPU(6, 0x5f)}},
	/* Goldmont Plus, Tremont, Gracemont, Grand Ridge, Sierra Forest, Clearwater Forest */
	{{.apl11 = true},
	 {CPU(6, 0x7a), CPU(6, 0x86), CPU(6, 0x96), CPU(6, 0x9c), CPU(6, 0xbe), CPU(6, 0xb6), CPU(6, 0xaf),
	  CPU(6, 0xdd)}},
};

struct flow_errata flow_errata_of(const struct ptl_machine *machine)
{
	const uint32_t cpu = CPU(machine->family, machine->model);

	if (machine->vendor != PTL_VENDOR_INTEL || machine->software)
		return (struct flow_errata){0};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		for (size_t k = 0; k < MODELS_MAX && known[i].cpus[k]; k++)
			if (known[i].cpus[k] == cpu)
				return known[i].errata;
	return (struct flow_errata){0};
}

/* ---- damaged packets ----------------------------------------------------------------------------------------- */

/* Checks for a CYC of two bytes whose second byte begins an OVF. No CPU sends such a CYC. */
static bool is_cut_cyc(const uint8_t *data, size_t left, const struct ptl_pt_packet *packet)
{
	return packet->kind == PTL_PT_CYC && packet->size == 2 && left > 2 &&
	       FORMAT_PT_IS(common_load16(data + 1), OVF);
}

int flow_errata_mend(const struct flow_errata *errata, const uint8_t *data, size_t left, int size,
		     struct ptl_pt_packet *packet)
{
	int mended = 0;

	if (errata->skd007 && size > 0 && is_cut_cyc(data, left, packet))
		mended = 1;
	else if (errata->skz84 && size == PTL_CORRUPT && left > FORMAT_PT_SIZE_TMA &&
		 FORMAT_PT_IS(common_load16(data), TMA))
		mended = FORMAT_PT_SIZE_TMA + 1;
	if (!mended)
		return size;
	*packet = (struct ptl_pt_packet){.kind = PTL_PT_PAD, .size = (uint8_t)mended};
	return mended;
}
