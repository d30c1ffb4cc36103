#include "page_parts.h"

void html_begin(struct text *text, const struct html_head *head)
{
    text_printf(text,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src '%s'; script-src %s%s%s; base-uri 'none'; form-action 'none'\">\n",
                head->style_hash, head->script_hash ? "'" : "",
                head->script_hash ? head->script_hash : "'none", "'");
    text_add_string(text, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                          "\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                          "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    text_add_html(text, head->title);
    text_add_string(text, "</title>\n<style>");
    text_add_string(text, head->style);
    text_add_string(text, "</style>\n</head>\n<body>\n");
}

void html_add_summary(struct text *text, const struct profile *profile)
{
    const struct profile_counts *counts = &profile->counts;
    text_printf(text, "%.1f s, %llu samples of threads at %llu moments, one each %.3g ms",
                (double)profile->duration / 1e9, (unsigned long long)counts->samples,
                (unsigned long long)counts->taken, (double)profile->interval / 1e6);
    if (counts->lost)
        text_printf(text, "; %llu moments lost", (unsigned long long)counts->lost);
    if (counts->failed)
        text_printf(text, "; %llu samples without a stack", (unsigned long long)counts->failed);
    if (profile->by_cpu)
        text_add_string(text, "; by processor time");
    if (!profile->merged)
        text_add_string(text, "; Python frames alone");
}
