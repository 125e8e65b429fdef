/* SPDX-License-Identifier: BSD-2-Clause */
/* Constants shared by encoder and decoder of symbol tables: docs/format.md, section 10. */
#ifndef FORMAT_METADATA_SYMBOLS_H
#define FORMAT_METADATA_SYMBOLS_H

#define FORMAT_SYMBOLS_MAGIC "PTLSYM1" /* includes the zero byte */
#define FORMAT_SYMBOLS_MAGIC_SIZE 8
#define FORMAT_SYMBOL_PREFIX_MAX 63
#define FORMAT_SYMBOL_REST_MAX 65535

#endif
