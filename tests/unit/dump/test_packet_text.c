/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests text and JSON of a packet of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dump/print/packet_text.h"
#include "tests/unit/pt_random.h"

#define LAST_IP 0x7ffff7fc1234

static const struct {
	struct ptl_pt_packet packet;
	const char *text;
	const char *json;
} cases[] = {
	{{.kind = PTL_PT_PAD}, "pad", "{\"packet\":\"PAD\",\"size\":0}"},
	{{.kind = PTL_PT_PSB, .size = 16}, "psb", "{\"packet\":\"PSB\",\"size\":16}"},
	{{.kind = PTL_PT_PSBEND}, "psbend", "{\"packet\":\"PSBEND\",\"size\":0}"},
	{{.kind = PTL_PT_OVF}, "ovf", "{\"packet\":\"OVF\",\"size\":0}"},
	{{.kind = PTL_PT_TRACESTOP}, "tracestop", "{\"packet\":\"TraceStop\",\"size\":0}"},
	{{.kind = PTL_PT_TNT_8, .tnt = {.count = 3, .bits = 6}},
	 "tnt ttn",
	 "{\"packet\":\"TNT\",\"size\":0,\"branches\":\"ttn\"}"},
	{{.kind = PTL_PT_TNT_64, .tnt = {.count = 8, .bits = 1}},
	 "tnt-64 nnnnnnnt",
	 "{\"packet\":\"TNT-64\",\"size\":0,\"branches\":\"nnnnnnnt\"}"},
	{{.kind = PTL_PT_TIP, .ip = {.form = PTL_PT_IP_UPDATE_16, .payload = 0x5678}},
	 "tip 0x7ffff7fc5678",
	 "{\"packet\":\"TIP\",\"size\":0,\"ip\":\"0x7ffff7fc5678\",\"form\":\"update16\","
	 "\"payload\":\"0x5678\"}"},
	{{.kind = PTL_PT_TIP_PGE, .ip = {.form = PTL_PT_IP_UPDATE_32, .payload = 0xf7fc5678}},
	 "tip.pge 0x7ffff7fc5678 form=update32",
	 "{\"packet\":\"TIP.PGE\",\"size\":0,\"ip\":\"0x7ffff7fc5678\",\"form\":\"update32\","
	 "\"payload\":\"0xf7fc5678\"}"},
	{{.kind = PTL_PT_TIP_PGD}, "tip.pgd -", "{\"packet\":\"TIP.PGD\",\"size\":0,\"ip\":null}"},
	{{.kind = PTL_PT_FUP, .ip = {.form = PTL_PT_IP_SIGN_48, .payload = 0xffff81000000}},
	 "fup 0xffffffff81000000",
	 "{\"packet\":\"FUP\",\"size\":0,\"ip\":\"0xffffffff81000000\",\"form\":\"sign48\","
	 "\"payload\":\"0xffff81000000\"}"},
	{{.kind = PTL_PT_FUP, .ip = {.form = PTL_PT_IP_UPDATE_48, .payload = 0x1000}},
	 "fup 0x1000 form=update48",
	 "{\"packet\":\"FUP\",\"size\":0,\"ip\":\"0x1000\",\"form\":\"update48\",\"payload\":"
	 "\"0x1000\"}"},
	{{.kind = PTL_PT_FUP, .ip = {.form = PTL_PT_IP_FULL, .payload = 0x1000}},
	 "fup 0x1000 form=full",
	 "{\"packet\":\"FUP\",\"size\":0,\"ip\":\"0x1000\",\"form\":\"full\",\"payload\":"
	 "\"0x1000\"}"},
	{{.kind = PTL_PT_MODE_EXEC, .mode_exec = {.cs_l = 1, .interrupt_flag = 1}},
	 "mode.exec 64 if",
	 "{\"packet\":\"MODE.Exec\",\"size\":0,\"cs_l\":true,\"cs_d\":false,\"interrupt_flag\":"
	 "true}"},
	{{.kind = PTL_PT_MODE_EXEC, .mode_exec = {.cs_d = 1}},
	 "mode.exec 32",
	 "{\"packet\":\"MODE.Exec\",\"size\":0,\"cs_l\":false,\"cs_d\":true,\"interrupt_flag\":"
	 "false}"},
	{{.kind = PTL_PT_MODE_EXEC},
	 "mode.exec 16",
	 "{\"packet\":\"MODE.Exec\",\"size\":0,\"cs_l\":false,\"cs_d\":false,\"interrupt_flag\":"
	 "false}"},
	{{.kind = PTL_PT_MODE_EXEC, .mode_exec = {.cs_l = 1, .cs_d = 1}},
	 "mode.exec cs_l+cs_d",
	 "{\"packet\":\"MODE.Exec\",\"size\":0,\"cs_l\":true,\"cs_d\":true,\"interrupt_flag\":"
	 "false}"},
	{{.kind = PTL_PT_MODE_TSX}, "mode.tsx", "{\"packet\":\"MODE.TSX\",\"size\":0,\"in_tx\":false,\"abort\":false}"},
	{{.kind = PTL_PT_MODE_TSX, .mode_tsx = {.abort = 1}},
	 "mode.tsx abort",
	 "{\"packet\":\"MODE.TSX\",\"size\":0,\"in_tx\":false,\"abort\":true}"},
	{{.kind = PTL_PT_TSC, .tsc = {0x12d687}},
	 "tsc 0x12d687",
	 "{\"packet\":\"TSC\",\"size\":0,\"tsc\":\"0x12d687\"}"},
	{{.kind = PTL_PT_CBR, .cbr = {34}}, "cbr 34", "{\"packet\":\"CBR\",\"size\":0,\"ratio\":34}"},
	{{.kind = PTL_PT_TMA, .tma = {512, 3}},
	 "tma ctc=512 fast=3",
	 "{\"packet\":\"TMA\",\"size\":0,\"ctc\":512,\"fast\":3}"},
	{{.kind = PTL_PT_MTC, .mtc = {255}}, "mtc 255", "{\"packet\":\"MTC\",\"size\":0,\"ctc\":255}"},
	{{.kind = PTL_PT_CYC, .cyc = {0}}, "cyc 0", "{\"packet\":\"CYC\",\"size\":0,\"cycles\":0}"},
	{{.kind = PTL_PT_PIP, .pip = {0x1a000, 1}},
	 "pip cr3=0x1a000 non_root",
	 "{\"packet\":\"PIP\",\"size\":0,\"cr3\":\"0x1a000\",\"non_root\":true}"},
	{{.kind = PTL_PT_VMCS, .vmcs = {0x5000}},
	 "vmcs 0x5000",
	 "{\"packet\":\"VMCS\",\"size\":0,\"base\":\"0x5000\"}"},
	{{.kind = PTL_PT_MNT, .mnt = {~0ull}},
	 "mnt 0xffffffffffffffff",
	 "{\"packet\":\"MNT\",\"size\":0,\"payload\":\"0xffffffffffffffff\"}"},
	{{.kind = PTL_PT_EXSTOP, .exstop = {1}}, "exstop ip", "{\"packet\":\"EXSTOP\",\"size\":0,\"ip\":true}"},
	{{.kind = PTL_PT_MWAIT, .mwait = {0x10, 1}},
	 "mwait hints=0x10 extensions=0x1",
	 "{\"packet\":\"MWAIT\",\"size\":0,\"hints\":\"0x10\",\"extensions\":\"0x1\"}"},
	{{.kind = PTL_PT_PWRE, .pwre = {1, 2, 1}},
	 "pwre state=1 sub_state=2 hardware",
	 "{\"packet\":\"PWRE\",\"size\":0,\"state\":1,\"sub_state\":2,\"hardware\":true}"},
	{{.kind = PTL_PT_PWRX, .pwrx = {1, 6, 4}},
	 "pwrx last=1 deepest=6 wake=0x4",
	 "{\"packet\":\"PWRX\",\"size\":0,\"last\":1,\"deepest\":6,\"wake\":\"0x4\"}"},
	{{.kind = PTL_PT_PTWRITE, .ptwrite = {0x2a, 8, 1}},
	 "ptw bytes=8 payload=0x2a ip",
	 "{\"packet\":\"PTW\",\"size\":0,\"bytes\":8,\"payload\":\"0x2a\",\"ip\":true}"},
	{{.kind = PTL_PT_BBP, .bbp = {4, 8}},
	 "bbp type=4 bip_bytes=8",
	 "{\"packet\":\"BBP\",\"size\":0,\"type\":4,\"bip_bytes\":8}"},
	{{.kind = PTL_PT_BIP, .bip = {0x2a, 31, 4}},
	 "bip bytes=4 id=31 payload=0x2a",
	 "{\"packet\":\"BIP\",\"size\":0,\"bytes\":4,\"id\":31,\"payload\":\"0x2a\"}"},
	{{.kind = PTL_PT_BEP}, "bep", "{\"packet\":\"BEP\",\"size\":0,\"ip\":false}"},
	{{.kind = PTL_PT_CFE, .cfe = {1, 14, 1}},
	 "cfe type=1 vector=14 ip",
	 "{\"packet\":\"CFE\",\"size\":0,\"type\":1,\"vector\":14,\"ip\":true}"},
	{{.kind = PTL_PT_EVD, .evd = {0x1000, 0}},
	 "evd type=0 payload=0x1000",
	 "{\"packet\":\"EVD\",\"size\":0,\"type\":0,\"payload\":\"0x1000\"}"},
	{{.kind = PTL_PT_TRIG, .trig = {.triggers = 1, .has_count = 1, .count = 9}},
	 "trig triggers=0x1 has_count count=9",
	 "{\"packet\":\"TRIG\",\"size\":0,\"triggers\":\"0x1\",\"ip\":false,\"multiple\":false,"
	 "\"has_count\":true,\"count\":9}"},
};

static void text_of_every_kind(void **state)
{
	bool seen[PTL_PT_KINDS] = {[PTL_PT_NONE] = true};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[PACKET_TEXT_SIZE];

		assert_int_equal(dump_packet_text(&cases[i].packet, LAST_IP, text), strlen(cases[i].text));
		assert_string_equal(text, cases[i].text);
		seen[cases[i].packet.kind] = true;
	}
	for (unsigned kind = 0; kind < PTL_PT_KINDS; kind++)
		assert_true(seen[kind]);
}

static void json_of_every_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct common_json json;
		char *text = NULL;
		size_t size = 0;
		FILE *file = open_memstream(&text, &size);

		assert_non_null(file);
		common_json_start(&json, file);
		common_json_object(&json, NULL);
		dump_packet_json(&cases[i].packet, LAST_IP, &json);
		common_json_object_end(&json);
		assert_int_equal(fclose(file), 0);
		assert_string_equal(text, cases[i].json);
		free(text);
	}
}

/* Whatever the fields hold, no text is cut. */
static void text_always_fits(void **state)
{
	struct pt_random random = pt_random(8);
	size_t longest = 0;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		char text[PACKET_TEXT_SIZE];
		struct ptl_pt_packet packet;
		size_t size;

		pt_random_packet(&random, &packet);
		size = dump_packet_text(&packet, pt_random_next(&random), text);
		assert_int_equal(strlen(text), size);
		longest = size > longest ? size : longest;
	}
	assert_in_range(longest, 7 + FORMAT_PT_TNT_64_MAX, PACKET_TEXT_SIZE - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_every_kind),
		cmocka_unit_test(json_of_every_kind),
		cmocka_unit_test(text_always_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
