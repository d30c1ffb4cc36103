/**
 * @file
 * The JSON Schemas of the folder schema/, as they are, in the program: CMake makes the table.
 */
#ifndef PSC_SCHEMAS_H
#define PSC_SCHEMAS_H

struct published_schema {
    const char *name;       /**< As documents name it in "schema": "pystack-core/1". */
    const char *short_name; /**< The same without what all have in common: "groups"; or "report". */
    const char *what;       /**< A sentence. */
    const char *text;
};

/** Ends with a row of NULL. */
extern const struct published_schema published_schemas[];

#endif
