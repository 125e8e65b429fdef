/* SPDX-License-Identifier: BSD-2-Clause */
/* What a plugin in the private format may call of its loader, and its own entry. */
#ifndef TESTDATA_PROGRAMS_PLUGINS_HOST_H
#define TESTDATA_PROGRAMS_PLUGINS_HOST_H

unsigned host_sum(unsigned a, unsigned b);
unsigned host_scale(unsigned a);
void host_count(void);

int entry(int x);

#endif
