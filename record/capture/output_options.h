/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of the output's writer, from the settings. */
#ifndef RECORD_CAPTURE_OUTPUT_OPTIONS_H
#define RECORD_CAPTURE_OUTPUT_OPTIONS_H

#include <ptl/writer.h>

#include "record/capture/settings.h"

/* Returns the options for writing a file at `path`. */
struct ptl_writer_options record_writer_options(const struct record_settings *settings, const char *path);
/* Returns the settings' wish for an existing file, as record_output_create takes it. */
unsigned record_output_wish(const struct record_settings *settings);

#endif
