/* SPDX-License-Identifier: BSD-2-Clause */
/* Contains the files of the page. The scripts are joined to one script. */
#include "dump/export/html/html.h"

#define FILE_BEGIN(name) ".globl " name "\n" name ":\n"
#define FILE_PART(name) ".incbin \"dump/export/html/" name "\"\n"
#define FILE_END ".byte 0\n"

__asm__(".pushsection .rodata\n"                                             /**/
	FILE_BEGIN("dump_html_template") FILE_PART("page.html") FILE_END     /**/
		FILE_BEGIN("dump_html_style") FILE_PART("page.css") FILE_END /**/
			FILE_BEGIN("dump_html_script") FILE_PART("data.js") FILE_PART("tables.js")
				FILE_PART("timeline_data.js") FILE_PART("calls.js") FILE_PART("timeline.js")
					FILE_PART("timeline_select.js") FILE_PART("selection.js") FILE_PART("tree.js")
						FILE_PART("flame.js") FILE_PART("source.js") FILE_PART("functions.js")
							FILE_PART("events.js") FILE_PART("crash.js")
								FILE_PART("summary.js") FILE_PART("page.js") FILE_END
	".popsection\n");
