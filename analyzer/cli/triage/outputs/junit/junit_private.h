/** Shared by the files of room `cli/triage/outputs/junit` only. */
#ifndef PSC_TRIAGE_JUNIT_PRIVATE_H
#define PSC_TRIAGE_JUNIT_PRIVATE_H

#include "junit.h"
#include "xml_calls.h"

/* ---- junit_name.c ---- */

/** What a test case is called; malloc'd strings. */
struct junit_name {
    char *class_name;
    char *name;
};

/**
 * As pytest names it (mangle_test_address() of _pytest/junitxml.py, 7 to 9): the path with dots and
 * without ".py", then the classes; parameters stay with the name. false: out of memory.
 */
bool junit_name_of_test(const char *id, struct junit_name *ret);
void junit_name_deinit(struct junit_name *name);

/** Text that XML 1.0 may hold; malloc'd, NULL: out of memory. */
char *make_xml_text(const char *text);

/* ---- junit_suite.c ---- */

/** A file of test cases on its way. */
struct junit_file {
    const struct xml_calls *xml;
    xmlDocPtr document;
    xmlNodePtr suite; /**< Where new test cases go. */
};

/**
 * What was written by others, or (NULL, or no such file) an empty one. What is damaged is taken as
 * far as it goes, and said so. false, and said so: it cannot be read, or is no JUnit file.
 */
bool junit_file_open(struct junit_file *file, const char *path);
void junit_file_close(struct junit_file *file);
/** The test case of that name; NULL: there is none. */
xmlNodePtr junit_file_find(const struct junit_file *file, const struct junit_name *name);
/** The test case of that name; it is made when there is none. NULL: out of memory. */
xmlNodePtr junit_file_case(struct junit_file *file, const struct junit_name *name);
/** The first error or failure of a test case; NULL: there is none. */
xmlNodePtr junit_case_problem(xmlNodePtr test);
/** Counts what is in the suites. false: out of memory. */
bool junit_file_count(struct junit_file *file);

#endif
