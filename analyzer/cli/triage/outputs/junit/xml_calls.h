/**
 * @file
 * libxml2, loaded when it is first needed: linked to the program it would load ICU and libstdc++
 * at every start, which takes longer than the start itself.
 */
#ifndef PSC_XML_CALLS_H
#define PSC_XML_CALLS_H

#include <libxml/parser.h>
#include <libxml/tree.h>

/* What is used of it; a member of struct xml_calls each, of the header's type. */
#define XML_CALLS(X)             \
    X(xmlReadMemory)             \
    X(xmlNewDoc)                 \
    X(xmlNewDocNode)             \
    X(xmlNewTextChild)           \
    X(xmlNewDocText)             \
    X(xmlAddChild)               \
    X(xmlUnlinkNode)             \
    X(xmlFreeNode)               \
    X(xmlDocSetRootElement)      \
    X(xmlDocGetRootElement)      \
    X(xmlGetNoNsProp)            \
    X(xmlSetProp)                \
    X(xmlDocDumpFormatMemoryEnc) \
    X(xmlFreeDoc)

#define XML_MEMBER(name) __typeof__(name) *name;
struct xml_calls {
    XML_CALLS(XML_MEMBER)
};

/** Loaded once, for good; NULL: *ret_problem is a sentence. */
const struct xml_calls *xml_calls_load(const char **ret_problem);

#endif
