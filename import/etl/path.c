/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts file names: \Device\HarddiskVolume2\Windows becomes C:\Windows, if the trace has the mapping. */
#include "import/etl/path.h"

#include <stdlib.h>

#include "common/error.h"

#define UNITS_MAX 1024u

void etl_paths_free(struct etl_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++) {
		free(paths->volumes[i].from);
		free(paths->volumes[i].to);
	}
	paths->count = 0;
}

/* Returns the number of units before the zero. */
static size_t length_of(const uint8_t *text, size_t size)
{
	size_t units = 0;

	while (units < size / 2 && common_load16(text + 2 * units))
		units++;
	return units;
}

static uint8_t *copy_path(const uint8_t *text, size_t units)
{
	uint8_t *made = malloc(2 * units + 2);

	if (made)
		memcpy(made, text, 2 * units);
	return made;
}

int etl_paths_add(struct etl_paths *paths, const uint8_t *payload, size_t size)
{
	struct etl_volume *volume = &paths->volumes[paths->count];
	const size_t from = length_of(payload, size);
	const uint8_t *second = payload + 2 * from + 2;
	size_t to;

	if (paths->count == ETL_VOLUMES_MAX || !from || from > UNITS_MAX || size < 2 * from + 2)
		return 0;
	to = length_of(second, size - 2 * from - 2);
	if (to > UNITS_MAX)
		return 0;
	*volume = (struct etl_volume){copy_path(payload, from), copy_path(second, to), from, to};
	paths->count++;
	return volume->from && volume->to ? 0 : common_fail_memory("volumes", 2 * (from + to));
}

static unsigned lower(unsigned unit)
{
	return unit >= 'A' && unit <= 'Z' ? unit + 'a' - 'A' : unit;
}

static bool begins_with_volume(const uint8_t *text, size_t units, const struct etl_volume *volume)
{
	if (units < volume->from_units)
		return false;
	for (size_t i = 0; i < volume->from_units; i++)
		if (lower(common_load16(text + 2 * i)) != lower(common_load16(volume->from + 2 * i)))
			return false;
	return true;
}

void etl_paths_write(const struct etl_paths *paths, const uint8_t *text, size_t units, struct ptl_bytes *out)
{
	const struct etl_volume *best = NULL;
	size_t skip;

	for (size_t i = 0; i < paths->count; i++)
		if (begins_with_volume(text, units, &paths->volumes[i]) &&
		    (!best || paths->volumes[i].from_units > best->from_units))
			best = &paths->volumes[i];
	skip = best ? best->from_units : 0;
	if (best && best->to_units)
		common_write_bytes(out, best->to, 2 * best->to_units);
	if (units > skip)
		common_write_bytes(out, text + 2 * skip, 2 * (units - skip));
}
