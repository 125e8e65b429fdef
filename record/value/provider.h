/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider of values: its events are named after functions. */
#ifndef RECORD_VALUE_PROVIDER_H
#define RECORD_VALUE_PROVIDER_H

#define VALUE_PROVIDER "PTL-Values"

#endif
