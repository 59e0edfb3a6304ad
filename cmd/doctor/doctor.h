/* SPDX-License-Identifier: MIT */
/* doctor.h - sfid doctor. */
#ifndef CMD_DOCTOR_DOCTOR_H
#define CMD_DOCTOR_DOCTOR_H

/*
 * The doctor only reads. It takes and tries no lock, makes and writes nothing,
 * maps nothing for writing, and keeps access times if it can. Findings give
 * cause and cure.
 */
extern const struct command command_doctor;

#endif
