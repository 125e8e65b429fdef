/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of programs that read a running session. */
#ifndef COMMON_SESSION_SESSION_SAY_H
#define COMMON_SESSION_SESSION_SAY_H

#include <stdint.h>

/* For a struct common_session_wait: after one second, says once that the session does not answer. */
void common_session_say_waiting(const char *name, uint64_t waited);
/* Warns that `events` more events were lost before they could be read. */
void common_session_say_missed(uint64_t events);

#endif
