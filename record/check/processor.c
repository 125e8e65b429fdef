/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the processor and its Intel PT by /proc/cpuinfo and the driver's capabilities in sysfs. */
#include <string.h>

#include "common/text/text.h"
#include "record/check/machine.h"

#define DEVICE "/sys/bus/event_source/devices/intel_pt"
#define CPUINFO_MAX 16384 /* the first processor is enough */

static const char processor_group[] = "Processor";
static const char pt_group[] = "Intel PT";

/* ---- the processor --------------------------------------------------------------------------- */

/* Copies the value of a key of the first processor: "key\t: value". Returns false without such a key. */
static bool find_value(const char *cpuinfo, const char *key, char *value, size_t size)
{
	const size_t length = strlen(key);

	/* An empty line ends the first processor. */
	while (*cpuinfo && *cpuinfo != '\n') {
		const char *end = strchrnul(cpuinfo, '\n'), *colon = memchr(cpuinfo, ':', (size_t)(end - cpuinfo));

		if (colon && !strncmp(cpuinfo, key, length) &&
		    strspn(cpuinfo + length, " \t") == (size_t)(colon - cpuinfo) - length) {
			colon += 1 + strspn(colon + 1, " \t");
			snprintf(value, size, "%.*s", colon < end ? (int)(end - colon) : 0, colon);
			return true;
		}
		cpuinfo = *end ? end + 1 : end;
	}
	return false;
}

static bool has_word(const char *words, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

struct processor {
	char vendor[64];
	char model[128];
	char flags[8192];
	bool known;
};

static void read_processor(const struct check_list *list, struct processor *processor)
{
	char cpuinfo[CPUINFO_MAX];

	*processor = (struct processor){.vendor = ""};
	if (!check_read(list, "/proc/cpuinfo", cpuinfo, sizeof(cpuinfo)))
		return;
	processor->known = find_value(cpuinfo, "vendor_id", processor->vendor, sizeof(processor->vendor));
	find_value(cpuinfo, "model name", processor->model, sizeof(processor->model));
	find_value(cpuinfo, "flags", processor->flags, sizeof(processor->flags));
}

static void check_model(struct check_list *list, const struct processor *processor)
{
	struct check_item item = {.group = processor_group, .name = "model", .value = processor->model};

	if (!processor->known) {
		item.state = CHECK_UNKNOWN;
		item.value = NULL;
		item.why = "/proc/cpuinfo names no processor";
	} else if (strcmp(processor->vendor, "GenuineIntel") != 0) {
		item.why = "it is not Intel's, and has no Intel PT";
		item.remedy = "--source software, which makes the packets without it";
	} else {
		item.state = CHECK_YES;
	}
	check_list_add(list, &item);
}

static void check_bare(struct check_list *list, const struct processor *processor)
{
	struct check_item item = {.group = processor_group, .name = "not virtual", .state = CHECK_YES};
	char product[128] = "";

	if (!processor->known)
		return;
	if (has_word(processor->flags, "hypervisor")) {
		check_read(list, "/sys/class/dmi/id/product_name", product, sizeof(product));
		item.state = CHECK_NO;
		item.value = product[0] ? product : NULL;
		item.why = "this is a virtual machine, which has Intel PT only if its host gives it";
		item.remedy = "on a host with KVM: modprobe kvm_intel pt_mode=1, and a guest with -cpu host";
	}
	check_list_add(list, &item);
}

/* ---- Intel PT -------------------------------------------------------------------------------- */

/* Checks whether the kernel has the device. Adds the cause and a remedy otherwise. */
static bool check_device(struct check_list *list, const struct processor *processor)
{
	struct check_item item = {.group = pt_group, .name = "device", .value = DEVICE};
	long long type;

	if (check_read_number(list, DEVICE "/type", 10, &type) && type >= 0) {
		item.state = CHECK_YES;
	} else if (has_word(processor->flags, "intel_pt")) {
		item.why = "the processor has it, but the kernel does not show it";
		item.remedy = "a kernel with CONFIG_PERF_EVENTS and CONFIG_CPU_SUP_INTEL; not from within a container "
			      "without /sys";
	} else {
		item.why = "the processor, or what virtualises it, does not offer it";
		item.remedy = "an Intel processor of the fifth generation (Broadwell) or later, outside of a virtual "
			      "machine; or --source software";
	}
	check_list_add(list, &item);
	return item.state == CHECK_YES;
}

/* A capability, present or missing. values: a file with a bit for each permitted value. */
static const struct {
	const char *name;
	const char *file;
	const char *values;
	const char *missing;
} capabilities[] = {
	{"psb_period", "psb_cyc", "psb_periods", "the distance of PSB packets cannot be chosen"},
	{"cyc", "psb_cyc", "cycle_thresholds", "no packets of cycles: time is as fine as MTC makes it"},
	{"mtc", "mtc", "mtc_periods", "no MTC packets: time is known at each PSB alone"},
	{"address filters", "ip_filtering", NULL, "code cannot be chosen by address"},
	{"ptw", "ptwrite", NULL, "no packets of PTWRITE instructions"},
	{"pwr_evt", "power_event_trace", NULL, "no packets of power events"},
	{"event", "event_trace", NULL, "no packets of interrupts and other events"},
	{"notnt", "tnt_disable", NULL, "packets of conditional branches cannot be left out"},
	{"large buffers", "topa_multiple_entries", NULL, "buffers are one piece of memory, which may be hard to get"},
};

/* Adds the numbers of set bits, as "0 3 6 9". */
static void add_bits(struct ptl_bytes *text, unsigned long long bits)
{
	for (unsigned bit = 0; bit < 64; bit++)
		if (bits >> bit & 1)
			common_text_format(text, "%s%u", text->size ? " " : "", bit);
}

static void add_number_of_filters(const struct check_list *list, struct ptl_bytes *text)
{
	long long count;

	if (check_read_number(list, DEVICE "/nr_addr_filters", 10, &count) && count > 0 && count < 64)
		common_text_format(text, "%lld range%s", count, count == 1 ? "" : "s");
}

static void check_capability(struct check_list *list, size_t i)
{
	struct check_item item = {.group = pt_group, .name = capabilities[i].name};
	struct ptl_bytes text = {0};
	char path[256];
	long long value;

	snprintf(path, sizeof(path), DEVICE "/caps/%s", capabilities[i].file);
	if (!check_read_number(list, path, 16, &value)) {
		/* The kernel shows all capabilities that the kernel knows. */
		item.state = check_exists(list, path) ? CHECK_UNKNOWN : CHECK_NO;
		item.why = item.state == CHECK_NO ? capabilities[i].missing : "what the kernel shows is no number";
	} else if (!value) {
		item.why = capabilities[i].missing;
	} else {
		item.state = CHECK_YES;
	}
	if (item.state == CHECK_YES && capabilities[i].values) {
		snprintf(path, sizeof(path), DEVICE "/caps/%s", capabilities[i].values);
		if (check_read_number(list, path, 16, &value) && value > 0)
			add_bits(&text, (unsigned long long)value);
	} else if (item.state == CHECK_YES && !strcmp(capabilities[i].file, "ip_filtering")) {
		add_number_of_filters(list, &text);
	}
	if (text.size)
		item.value = common_text_string(&text);
	check_list_add(list, &item);
	common_bytes_free(&text);
}

void check_processor(struct check_list *list)
{
	struct processor processor;

	read_processor(list, &processor);
	check_model(list, &processor);
	check_bare(list, &processor);
	if (!check_device(list, &processor))
		return;
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		check_capability(list, i);
}
