/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the tags of an XML text one after the other. Ignores text between tags, and entity definitions. */
#ifndef IMPORT_ETL_SCHEMA_XML_H
#define IMPORT_ETL_SCHEMA_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

struct etl_slice {
	const char *text; /* not zero-terminated */
	size_t size;
};

/* Set text, size, and the start position at. */
struct etl_xml {
	const char *text;
	size_t size, at;
};

struct etl_tag {
	struct etl_slice name;   /* without namespace prefix */
	struct etl_slice inside; /* attributes of the tag */
	bool closes;             /* </name> */
	bool empty;              /* <name/> */
};

/* Reads the next tag. Skips comments, declarations and CDATA sections. Returns false at the end. */
bool etl_xml_next(struct etl_xml *xml, struct etl_tag *tag);
bool etl_tag_is(const struct etl_tag *tag, const char *name);
/* Returns the value of an attribute with entities; false: no such attribute. */
bool etl_tag_attribute(const struct etl_tag *tag, const char *name, struct etl_slice *value);
/* Appends a value with entities replaced by characters. */
void etl_xml_text(struct etl_slice value, struct ptl_bytes *out);

#endif
