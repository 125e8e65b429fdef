/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's end of --values: makes plans for the functions of mapped files, and events of the values that arrive. */
#ifndef RECORD_VALUE_VALUES_H
#define RECORD_VALUE_VALUES_H

#include "common/text/string_list.h"
#include "record/capture/capture.h"
#include "record/channel/shared/channel.h"

struct record_values;

/* shared: memory for plans, zeroed. PTL_MISUSE: a text is no specification; PTL_NO_MEMORY. */
int record_values_new(const struct common_string_list *texts, struct record_capture *capture,
		      struct channel_values *shared, struct record_values **values);
void record_values_free(struct record_values *values);
/* Makes plans for the functions of the file at `path`. Prints a warning for values that cannot be read. PTL_NO_MEMORY. */
int record_values_image(struct record_values *values, const char *path, uint64_t device, uint64_t inode);
/* Writes the event of a message. Counts invalid messages. PTL_NO_MEMORY. */
int record_values_take(struct record_values *values, const struct channel_message_values *message);
/* Prints which functions no program had. False: there was such a function. */
bool record_values_finish(const struct record_values *values);
/* Writes losses. PTL_NO_MEMORY. */
int record_values_losses(const struct record_values *values);

#endif
