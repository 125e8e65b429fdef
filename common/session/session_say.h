/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs that read a session while it goes on have to say of it. */
#ifndef COMMON_SESSION_SESSION_SAY_H
#define COMMON_SESSION_SESSION_SAY_H

#include <stdint.h>

/* In a struct common_session_wait: says once, after a second, what is waited for. */
void common_session_say_waiting(const char *name, uint64_t waited);
/* So many events more were gone before they could be read. */
void common_session_say_missed(uint64_t events);

#endif
