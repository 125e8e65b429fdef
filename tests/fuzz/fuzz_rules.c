/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the parser of rule files; a refusal says where. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/error.h>

#include "relog/rules/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rules rules;
	int status = rules_parse("rules", (const char *)data, size, &rules);

	if (status == PTL_CORRUPT && strncmp(ptl_error_text(), "rules:", 6) != 0)
		abort();
	if (!status)
		rules_free(&rules);
	return 0;
}
