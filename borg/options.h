/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_OPTIONS_H
#define BORG_OPTIONS_H
/** options.c: an option that would be passed over in silence is refused, by a message that names
 *  it, the backend and the reason. */
#include "borg/borg.h"

/** Of a source, before anything is made: values, and what options.backend can do. */
borg_status borg_check_source(borg_program *p, const borg_options *o);
/** Of a text of IR, likewise: what only a source can be told. */
borg_status borg_check_text(borg_program *p, const borg_options *o);
/** When all units are made: what was asked for and could not be done for any of them. */
borg_status borg_check_made(borg_program *p, const borg_options *o);
/** Before `backend` emits, whether or not it was named when the units were made. */
borg_status borg_check_emit(borg_program *p, const borg_options *o, const borg_backend *backend);
/** The name of one bit of borg_disable, as in --disable. */
const char *borg_disable_text(int32_t bit);

#endif
