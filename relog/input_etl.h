/* SPDX-License-Identifier: BSD-2-Clause */
/* .etl files of Event Tracing for Windows as inputs. */
#ifndef RELOG_INPUT_ETL_H
#define RELOG_INPUT_ETL_H

#include "relog/inputs.h"

extern const struct relog_format relog_format_etl;

#endif
