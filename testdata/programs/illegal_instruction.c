/* SPDX-License-Identifier: BSD-2-Clause */
/* Dies of SIGILL on a CPU without AVX-512; with an argument, on every CPU. */
#include <sys/resource.h>

int main(int argc, char **argv)
{
	const struct rlimit none = {0, 0};

	(void)argv;
	setrlimit(RLIMIT_CORE, &none);
	if (argc > 1)
		__builtin_trap();
	/* vpxord zmm0, zmm0, zmm0 */
	__asm__ volatile(".byte 0x62, 0xf1, 0x7d, 0x48, 0xef, 0xc0");
	return 0;
}
