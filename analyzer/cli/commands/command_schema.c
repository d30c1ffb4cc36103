/* `pystack-core schema`: the JSON Schemas of what the program writes. */
#include "commands.h"
#include "messages.h"
#include "schemas.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec option_list[] = {OPTION_HELP};

const struct command_spec schema_command = {
    .name = "schema",
    .summary = "the JSON Schemas of what the program writes",
    .usage = "[NAME]",
    .about = "Prints the JSON Schema of that name, which a document has in its member \"schema\"\n"
             "(pystack-core-groups/1, or groups); without NAME it lists them.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "pystack-core schema\n"
                "pystack-core schema report > report.schema.json",
    .exit_status = "Exit status: 0 done, 64 wrong usage.",
};

static void list_schemas(void)
{
    for (const struct published_schema *schema = published_schemas; schema->name; schema++)
        printf("%-24s %s\n", schema->name, schema->what);
}

static const struct published_schema *find_schema(const char *name)
{
    for (const struct published_schema *schema = published_schemas; schema->name; schema++)
        if (!strcmp(schema->name, name) || !strcmp(schema->short_name, name))
            return schema;
    return NULL;
}

int command_schema(int argc, char **argv)
{
    int first;
    enum options_result result = command_line_parse(&schema_command, NULL, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    if (first == argc) {
        list_schemas();
        return EXIT_COMPLETE;
    }
    const struct published_schema *schema = argc - first == 1 ? find_schema(argv[first]) : NULL;
    if (!schema) {
        if (argc - first == 1)
            complain_of_usage("schema: there is no '%s'", argv[first]);
        else
            complain_of_usage("schema: one NAME at most");
        return EXIT_USAGE;
    }
    fputs(schema->text, stdout);
    return EXIT_COMPLETE;
}
