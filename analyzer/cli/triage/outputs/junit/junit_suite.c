/* Test suites of a JUnit file. */
#include "input.h"
#include "junit_private.h"
#include "messages.h"

#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT ((size_t)256 << 20)
/* Elements that are walked over: libxml2 itself takes a depth of 256. */
#define NODE_LIMIT 10000000u

#define TEXT(literal) ((const xmlChar *)(literal))

static bool is_element(const xmlNode *node, const char *name)
{
    return node && node->type == XML_ELEMENT_NODE && !strcmp((const char *)node->name, name);
}

/* The node that follows in the order of the text, within `root`; NULL: it was the last. */
static xmlNodePtr next_node(xmlNodePtr root, xmlNodePtr node)
{
    if (node->children && node->type == XML_ELEMENT_NODE)
        return node->children;
    while (node != root && !node->next)
        node = node->parent;
    return node == root ? NULL : node->next;
}

static xmlNodePtr find_element(xmlNodePtr root, const char *name)
{
    size_t left = NODE_LIMIT;
    for (xmlNodePtr node = root; node && left; node = next_node(root, node), left--)
        if (is_element(node, name))
            return node;
    return NULL;
}

static bool begin_empty(struct junit_file *file)
{
    file->document = file->xml->xmlNewDoc(TEXT("1.0"));
    xmlNodePtr root = file->document
                          ? file->xml->xmlNewDocNode(file->document, NULL, TEXT("testsuites"), NULL)
                          : NULL;
    if (root)
        file->xml->xmlDocSetRootElement(file->document, root);
    return root != NULL;
}

/* Where a file is cut off, a test case began of which nobody knows how it went on. */
static void drop_last_case(const struct junit_file *file, xmlDocPtr document)
{
    xmlNodePtr root = file->xml->xmlDocGetRootElement(document), last = NULL;
    size_t left = NODE_LIMIT;
    for (xmlNodePtr node = root; node && left; node = next_node(root, node), left--)
        last = is_element(node, "testcase") && node != root ? node : last;
    if (!last)
        return;
    file->xml->xmlUnlinkNode(last);
    file->xml->xmlFreeNode(last);
}

static xmlDocPtr parse(const struct junit_file *file, const struct input *input, const char *path)
{
    const int quiet =
        XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOBLANKS;
    const int size = (int)input->size; // FILE_LIMIT
    xmlDocPtr document = file->xml->xmlReadMemory(input->bytes, size, NULL, NULL, quiet);
    if (document)
        return document;
    complain("--junit-merge: %s: is no whole XML file; what could be read of it is kept", path);
    document = file->xml->xmlReadMemory(input->bytes, size, NULL, NULL, quiet | XML_PARSE_RECOVER);
    if (document)
        drop_last_case(file, document);
    return document;
}

static bool read_file(struct junit_file *file, const char *path)
{
    struct input input = {0};
    if (!input_read(&input, "--junit-merge", path, FILE_LIMIT)) {
        input_deinit(&input);
        return false;
    }
    file->document = input.size ? parse(file, &input, path) : NULL;
    input_deinit(&input);
    xmlNodePtr root = file->document ? file->xml->xmlDocGetRootElement(file->document) : NULL;
    if (root && !is_element(root, "testsuites") && !is_element(root, "testsuite")) {
        complain("--junit-merge: %s: is no JUnit file", path);
        return false;
    }
    if (root)
        return true;
    if (file->document)
        file->xml->xmlFreeDoc(file->document);
    return begin_empty(file);
}

bool junit_file_open(struct junit_file *file, const char *path)
{
    const char *problem;
    *file = (struct junit_file){.xml = xml_calls_load(&problem)};
    if (!file->xml) {
        complain("junit: %s", problem);
        return false;
    }
    if (path ? !read_file(file, path) : !begin_empty(file))
        return false;
    xmlNodePtr root = file->xml->xmlDocGetRootElement(file->document);
    file->suite = find_element(root, "testsuite");
    if (!file->suite)
        file->suite = file->xml->xmlNewTextChild(root, NULL, TEXT("testsuite"), NULL);
    if (!file->suite)
        return false;
    xmlChar *name = file->xml->xmlGetNoNsProp(file->suite, TEXT("name"));
    if (!name)
        file->xml->xmlSetProp(file->suite, TEXT("name"), TEXT("pystack-core"));
    free(name);
    return true;
}

void junit_prepare(void)
{
    const char *problem;
    (void)xml_calls_load(&problem);
}

void junit_file_close(struct junit_file *file)
{
    if (file->document)
        file->xml->xmlFreeDoc(file->document);
}

static bool has_value(const struct junit_file *file, xmlNodePtr node, const char *name,
                      const char *value)
{
    xmlChar *found = file->xml->xmlGetNoNsProp(node, TEXT(name));
    const bool same = found && !strcmp((const char *)found, value);
    free(found);
    return same;
}

xmlNodePtr junit_file_find(const struct junit_file *file, const struct junit_name *name)
{
    xmlNodePtr root = file->xml->xmlDocGetRootElement(file->document);
    size_t left = NODE_LIMIT;
    for (xmlNodePtr node = root; node && left; node = next_node(root, node), left--)
        if (is_element(node, "testcase") && has_value(file, node, "name", name->name) &&
            has_value(file, node, "classname", name->class_name))
            return node;
    return NULL;
}

xmlNodePtr junit_file_case(struct junit_file *file, const struct junit_name *name)
{
    xmlNodePtr found = junit_file_find(file, name);
    if (found)
        return found;
    xmlNodePtr made = file->xml->xmlNewTextChild(file->suite, NULL, TEXT("testcase"), NULL);
    if (made) {
        file->xml->xmlSetProp(made, TEXT("classname"), TEXT(name->class_name));
        file->xml->xmlSetProp(made, TEXT("name"), TEXT(name->name));
        file->xml->xmlSetProp(made, TEXT("time"), TEXT("0.000"));
    }
    return made;
}

xmlNodePtr junit_case_problem(xmlNodePtr test)
{
    for (xmlNodePtr node = test->children; node; node = node->next)
        if (is_element(node, "error") || is_element(node, "failure"))
            return node;
    return NULL;
}

static bool count_elements(const struct junit_file *file, xmlNodePtr suite)
{
    static const char *const counted[][2] = {{"tests", "testcase"},
                                             {"failures", "failure"},
                                             {"errors", "error"},
                                             {"skipped", "skipped"}};
    size_t counts[4] = {0}, left = NODE_LIMIT;
    for (xmlNodePtr node = suite; node && left; node = next_node(suite, node), left--)
        for (size_t i = 0; i < 4; i++)
            counts[i] += is_element(node, counted[i][1]);
    bool good = true;
    // The schema has no skipped of the outermost element.
    for (size_t i = 0; good && i < (is_element(suite, "testsuite") ? 4u : 3u); i++) {
        char number[24];
        snprintf(number, sizeof(number), "%zu", counts[i]);
        good = file->xml->xmlSetProp(suite, TEXT(counted[i][0]), TEXT(number)) != NULL;
    }
    return good;
}

bool junit_file_count(struct junit_file *file)
{
    xmlNodePtr root = file->xml->xmlDocGetRootElement(file->document);
    size_t left = NODE_LIMIT;
    bool good = true;
    for (xmlNodePtr node = root; good && node && left; node = next_node(root, node), left--)
        if (is_element(node, "testsuite") || (node == root && node->properties))
            good = count_elements(file, node);
    return good;
}
