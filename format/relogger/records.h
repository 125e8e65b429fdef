/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the metadata of the inputs. */
#ifndef FORMAT_RELOGGER_RECORDS_H
#define FORMAT_RELOGGER_RECORDS_H

#include <ptl/relogger.h>

/* Passes the metadata of all inputs and declares streams. */
int format_relogger_pass_records(struct ptl_relogger *relogger);
/* Passes a record of an input through the stages. */
int format_relogger_pass_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
				const struct ptl_record *record);
/* Passes a loss record of an input, with the output's ids and times. */
int format_relogger_pass_loss(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			      const struct ptl_record *record);
/* Writes loss records for unreadable data of the inputs. */
int format_relogger_pass_damage(struct ptl_relogger *relogger);

#endif
