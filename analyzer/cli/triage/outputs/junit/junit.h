/**
 * @file
 * Room `cli/triage/outputs/junit`: JUnit XML, made anew or as the end of what a test runner wrote.
 */
#ifndef PSC_TRIAGE_JUNIT_H
#define PSC_TRIAGE_JUNIT_H

#include "outputs.h"

/**
 * A test case for each test that died, named as pytest names it, and one for each other group.
 * What result->junit_merge names stays; a test case of it that is the same test gets the stack.
 */
write_result_fn write_junit;
/** Loads libxml2; what is wrong with it write_junit() says. */
void junit_prepare(void);

#endif
