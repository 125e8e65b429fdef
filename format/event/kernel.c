/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/event/kernel.h"

#include <string.h>

#include <ptl/kernel.h>

#include "common/error.h"

int format_kernel_check_name(const char *name)
{
	const size_t size = strlen(name);

	return size > PTL_PATH_MAX
		       ? common_fail(PTL_CORRUPT, "a path or name of %zu bytes: %u are allowed", size, PTL_PATH_MAX)
		       : 0;
}
