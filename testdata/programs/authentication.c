/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An example of a provider: somebody signs in, somebody fails to, somebody is denied access.
 *
 *     cc $(pkg-config --cflags ptl-provider) authentication.c $(pkg-config --libs ptl-provider)
 *     ptl-record --source none --provider Example-Authentication -o auth.ptl -- ./a.out
 *     ptl-dump events auth.ptl
 */
#include <stdio.h>

#include <ptl/provider.h>

#define KEYWORD_SIGN_IN 0x1
#define KEYWORD_ACCESS 0x2
#define TASK_SIGN_IN 1
#define TASK_ACCESS 2

enum opcode { OPCODE_SUCCEEDED = 11, OPCODE_FAILED, OPCODE_DENIED };

PTL_PROVIDER(authentication, "Example-Authentication");

PTL_MAP(authentication, tasks, "", PTL_MAP_TASKS, {TASK_SIGN_IN, "SignIn"}, {TASK_ACCESS, "Access"});
PTL_MAP(authentication, keywords, "", PTL_MAP_KEYWORDS, {KEYWORD_SIGN_IN, "SignIn"}, {KEYWORD_ACCESS, "Access"});

enum reason { WRONG_PASSWORD = 1, UNKNOWN_USER, LOCKED };
PTL_MAP(authentication, reasons, "Reason", PTL_MAP_VALUES, {WRONG_PASSWORD, "wrong password"},
	{UNKNOWN_USER, "unknown user"}, {LOCKED, "account locked"});

enum rights { RIGHT_READ = 1, RIGHT_WRITE = 2, RIGHT_DELETE = 4 };
PTL_MAP(authentication, rights, "Rights", PTL_MAP_FLAGS, {RIGHT_READ, "read"}, {RIGHT_WRITE, "write"},
	{RIGHT_DELETE, "delete"});

PTL_EVENT_FULL(authentication, sign_in_succeeded,
	       (1, 0, 0, PTL_LEVEL_INFORMATIONAL, OPCODE_SUCCEEDED, TASK_SIGN_IN, KEYWORD_SIGN_IN, 0, 0),
	       ("SignInSucceeded", "SignIn", "Succeeded"), "{0} signed in from {1}, session {2}", PTL_UTF8(User),
	       PTL_UTF8(Address), PTL_U64(Session));

PTL_EVENT_FULL(authentication, sign_in_failed,
	       (2, 0, 0, PTL_LEVEL_WARNING, OPCODE_FAILED, TASK_SIGN_IN, KEYWORD_SIGN_IN, 0, 0),
	       ("SignInFailed", "SignIn", "Failed"), "{0} could not sign in from {1}: {2} (attempt {3})",
	       PTL_UTF8(User), PTL_UTF8(Address), PTL_U32_MAP(Reason, "Reason"), PTL_U16(Attempt));

PTL_EVENT_FULL(authentication, access_denied,
	       (3, 0, 0, PTL_LEVEL_ERROR, OPCODE_DENIED, TASK_ACCESS, KEYWORD_ACCESS, 0, 0),
	       ("AccessDenied", "Access", "Denied"), "{0} may not {2} {1}", PTL_UTF8(User), PTL_UTF8(Path),
	       PTL_U32_MAP(Wanted, "Rights"), PTL_BOOL(Audited));

int main(void)
{
	/* The program continues if its events cannot be recorded. */
	if (ptl_provider_register(&authentication))
		perror("authentication: no events");
	sign_in_succeeded("Zoë Müller", "192.0.2.7", 4711);
	sign_in_failed("Łukasz", "198.51.100.23", WRONG_PASSWORD, 3);
	access_denied("李小龙", "/srv/geheim/Gehälter.ods", RIGHT_WRITE | RIGHT_DELETE, true);
	ptl_provider_unregister(&authentication);
	puts("three events");
	return 0;
}
