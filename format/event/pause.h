/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of ptl-record that tell where the packets of a thread are resumed and paused (--only-between). */
#ifndef FORMAT_EVENT_PAUSE_H
#define FORMAT_EVENT_PAUSE_H

#define FORMAT_PAUSE_PROVIDER "PTL-Record"
#define FORMAT_PAUSE_RESUMED 2 /* event ids; id 1 is a note */
#define FORMAT_PAUSE_PAUSED 3

#endif
