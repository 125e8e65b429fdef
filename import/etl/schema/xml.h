/* SPDX-License-Identifier: BSD-2-Clause */
/* The tags of an XML text, one after the other. Text between tags, and entities of its own, are not looked at. */
#ifndef IMPORT_ETL_SCHEMA_XML_H
#define IMPORT_ETL_SCHEMA_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

struct etl_slice {
	const char *text; /* not zero-ended */
	size_t size;
};

/* Set text and size, and at where to begin. */
struct etl_xml {
	const char *text;
	size_t size, at;
};

struct etl_tag {
	struct etl_slice name;   /* without a prefix of a namespace */
	struct etl_slice inside; /* where the attributes stand */
	bool closes;             /* </name> */
	bool empty;              /* <name/> */
};

/* The next tag; comments, declarations and sections of data are passed over. False: there is none. */
bool etl_xml_next(struct etl_xml *xml, struct etl_tag *tag);
bool etl_tag_is(const struct etl_tag *tag, const char *name);
/* The value of an attribute as it stands there; false: none. */
bool etl_tag_attribute(const struct etl_tag *tag, const char *name, struct etl_slice *value);
/* Appends a value with its entities as the characters that they are. */
void etl_xml_text(struct etl_slice value, struct ptl_bytes *out);

#endif
