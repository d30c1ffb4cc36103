/* What is masked, and what is not. */
#include "redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *text, const char *expected)
{
    struct text once = {0}, twice = {0};
    redact_text(text, strlen(text), &once);
    redact_text(once.data, once.size, &twice);
    text_add_char(&once, '\0');
    text_add_char(&twice, '\0');
    assert_string_equal(once.data, expected);
    assert_string_equal(twice.data, expected);
    text_deinit(&once);
    text_deinit(&twice);
}

static void stays(const char *text)
{
    check(text, text);
}

static void test_homes(void **state)
{
    (void)state;
    check("/home/alice/app.py:12", "/home/[user]/app.py:12");
    check("\"/Users/al.ice\"", "\"/Users/[user]\"");
    check("/nfs/home/bob/x /home/carol", "/nfs/home/[user]/x /home/[user]");
    check("alice/app.py /home/alice/app.py malice/x alice",
          "[user]/app.py /home/[user]/app.py malice/x alice");
    stays("/home/ /root/x /srv/home.py");
    check("USER=alice LOGNAME='bob'", "USER=[user] LOGNAME='[user]'");
    check("{\"user\":\"alice\"}", "{\"user\":\"[user]\"}");
    check("mysql --user alice", "mysql --user [user]");
}

static void test_urls(void **state)
{
    (void)state;
    check("https://user:pass@host/x", "https://[redacted]@host/x");
    check("postgres://u:p%40@db:5432/x", "postgres://[redacted]@db:5432/x");
    check("http://h/?a=1&token=abc&b=2#f", "http://h/?a=1&token=[redacted]&b=2#f");
    check("http://h/?access_token=abc", "http://h/?access_token=[redacted]");
    stays("https://host/path@x");
}

static void test_known(void **state)
{
    (void)state;
    check("run bob Tr0ub4dor password = 'Tr0ub4dor'", "run bob [redacted] password = '[redacted]'");
    check("[\"bob\",\"Tr0ub4dor\",{\"password\":\"'Tr0ub4dor'\"}]",
          "[\"bob\",\"[redacted]\",{\"password\":\"[redacted]\"}]");
    check("{\"a\":\"x Tr0ub4dor y\",\"token\":\"Tr0ub4dor\"}",
          "{\"a\":\"x [redacted] y\",\"token\":\"[redacted]\"}");
    /* Part of another word, of a path, or a word as others are. */
    check("xTr0ub4dor a/Tr0ub4dor.py token='Tr0ub4dor'",
          "xTr0ub4dor a/Tr0ub4dor.py token='[redacted]'");
    check("session main password=session", "session main password=[redacted]");
    check("v1 token='v1'", "v1 token='[redacted]'");
}

static void test_arguments(void **state)
{
    (void)state;
    check("app --password X --port 3", "app --password [redacted] --port 3");
    check("app --api-key=X --v", "app --api-key=[redacted] --v");
    check("{\"arguments\":[\"app\",\"--password\",\"X y\",\"-v\"]}",
          "{\"arguments\":[\"app\",\"--password\",\"[redacted]\",\"-v\"]}");
    check("['--token', 'abc', 'x']", "['--token', '[redacted]', 'x']");
    stays("app --password --port 3");
    stays("app --keyboard us --author me");
}

static void test_values(void **state)
{
    (void)state;
    check("password = 'hunter2'", "password = '[redacted]'");
    check("db_password=b\"it's\\\"x\" y", "db_password=b\"[redacted]\" y");
    check("{'api_key': 'abc', 'n': 3}", "{'api_key': '[redacted]', 'n': 3}");
    check("{'pin': 1, 'auth': 1234}", "{'pin': 1, 'auth': [redacted]}");
    check("{\"locals\":{\"secret\":\"'a\\\\\\\\'\",\"x\":\"1\"}}",
          "{\"locals\":{\"secret\":\"[redacted]\",\"x\":\"1\"}}");
    check("{\"x\":\"{\\\"token\\\": \\\"abc\\\", 1}\",\"y\":\"z\"}",
          "{\"x\":\"{\\\"token\\\": \\\"[redacted]\\\", 1}\",\"y\":\"z\"}");
    check("{\"x\":\"Config(password='abc\",\"y\":\"z\"}",
          "{\"x\":\"Config(password='[redacted]\",\"y\":\"z\"}");
    check("Authorization: Basic dXNlcjpwYXNz\nx", "Authorization: [redacted]\nx");
    check("Cookie: a=b; c=d\r\n", "Cookie: [redacted]\r\n");
    check("sent Bearer abcdefgh.ijk", "sent Bearer [redacted]");
    check("AWS_SECRET_ACCESS_KEY=abc/def+1", "AWS_SECRET_ACCESS_KEY=[redacted]");
    check("passphrase: tell nobody", "passphrase: [redacted] nobody");
    stays("{\"token\":12,\"key\":{\"a\":1},\"auth\":null,\"secret\":[1]}");
    stays("password = None, token=True, key == 3");
    stays("KeyError: 'rank' TokenError: bad PasswordWarning: x");
    stays("SIGSEGV in strlen · auth:login · token:refresh");
    stays("token.py:12 secret_manager.py:5 tokenizer=3 max_tokens: 100 monkey=1");
    stays("self.password");
    stays("{\"x\":\"--token',\",\"y\":\"z\"}");
    stays("{\"x\":\"token=\",\"y\":\"z\"}");
    stays("{\"x\":\"--token\",\"y\":\"z\"}");
    stays("{\"x\":\"-----BEGIN PRIVATE KEY-----\",\"y\":\"-----END PRIVATE KEY-----\"}");
}

static void test_literals(void **state)
{
    (void)state;
    check("cfg.set_password(\"x1\", f('b')); f(\"c\")",
          "cfg.set_password(\"[redacted]\", f('[redacted]')); f(\"c\")");
    check("check_token(load(\"a)b\"), 'x')\nf('c')",
          "check_token(load(\"[redacted]\"), '[redacted]')\nf('c')");
    check("{\"s\":\"set_secret(\\\"x\\\", 'y'\",\"t\":\"'z'\"}",
          "{\"s\":\"set_secret(\\\"[redacted]\\\", '[redacted]'\",\"t\":\"'z'\"}");
    check("if config[\"password\"] == 'x' or y != 'x':",
          "if config[\"password\"] == '[redacted]' or y != 'x':");
    check("if token != \"x\":", "if token != \"[redacted]\":");
    check("config['api_key'] = 'x'", "config['api_key'] = '[redacted]'");
    check("get(\"secret\", \"x\")", "get(\"secret\", \"[redacted]\")");
    stays("['password', 'email'], key == x, password == other, token(1)");
    // What a name says of one place holds for the same literal in others, also before it.
    check("connect(\"pl4in\", 'pl4in', pl4in)\npassword = 'pl4in'\n\"pl4ins\"",
          "connect(\"[redacted]\", '[redacted]', pl4in)\npassword = '[redacted]'\n\"pl4ins\"");
    check("{\"source\":\"f(\\\"pl4in\\\")\",\"locals\":{\"password\":\"'pl4in'\"},\"x\":\"pl4in\"}",
          "{\"source\":\"f(\\\"[redacted]\\\")\",\"locals\":{\"password\":\"[redacted]\"},"
          "\"x\":\"pl4in\"}");
    check("f('hunter2')\n--password hunter2", "f('[redacted]')\n--password [redacted]");
    check("f('main', 'abc')\nkey = 'main'\ntoken = 'abc'",
          "f('main', 'abc')\nkey = '[redacted]'\ntoken = '[redacted]'");
    check("get_token('/home/alice')", "get_token('[redacted]')");
    stays("don't call set_password() isn't it");
}

static void test_tokens(void **state)
{
    (void)state;
    check("x AKIAIOSFODNN7EXAMPLE y", "x [redacted] y");
    check("'ghp_0123456789abcdefghijABCDEFGHIJ0123'", "'[redacted]'");
    check("f(sk-proj-abcdefghijklmnop1234)", "f([redacted])");
    check("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_d, z", "[redacted], z");
    check("-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----\\nz",
          "[redacted]\\nz");
    stays("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----");
    stays("task-1234567890123456789 disk-abcdefghijklmnopqrst AKIA sk-short eyJ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_homes),    cmocka_unit_test(test_urls),
        cmocka_unit_test(test_known),    cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_literals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
