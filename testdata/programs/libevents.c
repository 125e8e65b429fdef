/* SPDX-License-Identifier: BSD-2-Clause */
/* A module with a provider: registered on loading, unregistered before unloading. */
#include <ptl/provider.h>

void events_work(unsigned number);

PTL_PROVIDER(module, "Example-Module");
PTL_EVENT(module, worked, 1, "Worked", PTL_LEVEL_INFORMATIONAL, 0, "did {0}", PTL_U32(number));

static __attribute__((constructor)) void start(void)
{
	ptl_provider_register(&module);
}

static __attribute__((destructor)) void stop(void)
{
	ptl_provider_unregister(&module);
}

void events_work(unsigned number)
{
	worked(number);
}
