/*
 * Keys and tokens by their look, as those who give them out document it: AWS (IAM identifiers),
 * GitHub (authentication token formats), GitLab, Slack, OpenAI and Anthropic, Google, npm, PyPI,
 * Hugging Face, Stripe; JSON web tokens (RFC 7519); private keys in PEM (RFC 7468).
 */
#include "redact_private.h"

#include <string.h>

#define PEM_LIMIT ((size_t)16384)
#define RUN_LIMIT ((size_t)4096)

static bool is_token_byte(char byte)
{
    return is_word(byte) || byte == '-';
}

static const struct {
    const char *begins;
    size_t least; /* Bytes that follow. */
} prefixes[] = {
    {"AKIA", 16},     {"ASIA", 16},        {"ghp_", 20},   {"gho_", 20},     {"ghu_", 20},
    {"ghs_", 20},     {"ghr_", 20},        {"glpat-", 16}, {"xoxb-", 10},    {"xoxp-", 10},
    {"xoxa-", 10},    {"xoxr-", 10},       {"xoxs-", 10},  {"sk-", 16},      {"AIza", 30},
    {"npm_", 30},     {"pypi-", 30},       {"hf_", 30},    {"sk_live_", 16}, {"rk_live_", 16},
    {"sk_test_", 16}, {"github_pat_", 20},
};

static size_t measure_run(const struct scan *scan, size_t from)
{
    size_t end = from;
    while (end < scan->size && end - from < RUN_LIMIT && is_token_byte(scan->text[end]))
        end++;
    return end - from;
}

/* "eyJ" is {" in base64: header, payload, and a signature, which may be cut off. */
static size_t measure_jwt(const struct scan *scan)
{
    size_t end = scan->at + measure_run(scan, scan->at);
    for (size_t part = 0; part < 2; part++) {
        if (end >= scan->size || scan->text[end] != '.')
            return part ? end - scan->at : 0;
        end += 1 + measure_run(scan, end + 1);
    }
    return end - scan->at;
}

static const char *find(const char *text, size_t size, const char *what)
{
    return memmem(text, size, what, strlen(what));
}

static size_t measure_pem(const struct scan *scan)
{
    const char *at = scan->text + scan->at;
    size_t left = scan->size - scan->at, line = left < 64 ? left : 64;
    if (left > PEM_LIMIT)
        left = PEM_LIMIT;
    if (!find(at, line, "PRIVATE KEY-----"))
        return 0;
    const char *end = find(at + 10, left - 10, "-----END ");
    const char *last = end ? find(end + 9, left - (size_t)(end + 9 - at), "-----") : NULL;
    return last ? (size_t)(last + 5 - at) : 0;
}

static bool begins(const struct scan *scan, const char *with)
{
    size_t size = strlen(with);
    return scan->size - scan->at >= size && !memcmp(scan->text + scan->at, with, size);
}

size_t token_measure(const struct scan *scan)
{
    if (scan->text[scan->at] == '-')
        return begins(scan, "-----BEGIN ") ? measure_pem(scan) : 0;
    if (begins(scan, "eyJ"))
        return measure_jwt(scan);
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t length = strlen(prefixes[i].begins);
        if (!begins(scan, prefixes[i].begins))
            continue;
        size_t run = measure_run(scan, scan->at + length);
        if (run >= prefixes[i].least)
            return length + run;
    }
    return 0;
}
