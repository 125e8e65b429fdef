/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of the loader for a plugin in the private format, and the plugin's entry. */
#ifndef TESTDATA_PROGRAMS_PLUGINS_HOST_H
#define TESTDATA_PROGRAMS_PLUGINS_HOST_H

unsigned host_sum(unsigned a, unsigned b);
unsigned host_scale(unsigned a);
void host_count(void);

int entry(int x);

#endif
