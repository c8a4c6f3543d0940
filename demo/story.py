"""The demo session as data: who says what, which tool is called, and with which exit code it must end."""

from faults import FAULTS
from steps import Agent, Person, bash, edit, mend, read, says, write

BUILD = "cmake --build build"
TEST = "ctest --test-dir build --output-on-failure"
BUILD_AND_TEST = f"{BUILD} 2>&1 | grep -v 'Building\\|Built' && {TEST}"

STORY: tuple[Person | Agent, ...] = (
    Person(
        "This is tinyconf, our configuration library. It builds on the machine it was written on and nowhere "
        "else. Please make it configure, build and pass its tests here, with what is installed.\n\n"
        "Rules:\n"
        "1. Do not touch the public header include/tinyconf.h.\n"
        "2. Keep C99, without compiler extensions. Warnings stay errors.\n"
        "3. No new dependencies.\n\n"
        "Tell me at the end what was wrong."
    ),
    says(
        "I'll look at the checkout first: what is there, what it says about itself, how it builds.",
        bash("find . -type f | sort | xargs wc -l"),
        read("README.md"),
        read("CMakeLists.txt"),
    ),
    says(
        "Before anything else I keep a copy of the public header in my build folder, so that I can "
        "prove later that it did not change. Then the configure step as the README has it.",
        bash(
            "mkdir -p build && cp include/tinyconf.h build/tinyconf.h.first && sha256sum include/tinyconf.h"
        ),
        bash("cmake -S . -B build", 1),
    ),
    says(
        "The compiler is fine; the tests want a package named cmocka. I'll see how deep that goes.",
        read("tests/CMakeLists.txt"),
        read("tests/check.h"),
        bash("ls /usr/include | grep -i cmocka", 1),
    ),
    says(
        "cmocka is not on this machine. All of it is hidden behind tests/check.h. What do the tests "
        "need of it?",
        read("tests/test_lexer.c"),
        bash("grep -c 'CHECK' tests/*.c; grep -n 'assert_\\|cmocka' tests/*.c", 1),
    ),
    says(
        "No test calls cmocka directly: CHECK, CHECK_TEXT and report are the whole interface. Under "
        "forty lines of C99 can be that, which takes a dependency away instead of adding one. A "
        "failed check will no longer end the program; that is better here, since one run then shows "
        "all failures.",
        write("tests/check.h"),
        edit(
            "tests/CMakeLists.txt",
            FAULTS["cmocka"].broken,
            "foreach(name convert lexer parse)",
        ),
        mend("cmocka linked"),
    ),
    says("", bash("cmake -S . -B build")),
    says(
        "It configures. Now the build, going on after errors so that I see all of them.",
        bash(f"{BUILD} -- -k", 2),
    ),
    says(
        "`strdup` and `strndup` are POSIX, not C99: with CMAKE_C_EXTENSIONS OFF the C library does "
        "not declare them. gnu99 would hide this and break rule 2. Let me see the two callers and "
        "what the library has of its own for text.",
        read("src/store.c"),
        read("src/text.h"),
    ),
    says(
        "text.h is the place for it: one function that copies a counted run of bytes and ends it with a zero "
        "byte serves both callers.",
        mend("copy declared"),
        mend("store includes"),
        mend("strdup"),
    ),
    says("", bash(f"{BUILD} -- -k", 2)),
    says(
        "It compiles, and the linker is right: I declared tc_text_copy and used it, but never defined it. "
        "It belongs into src/text.c.",
        read("src/text.c", 60),
    ),
    says("", mend("copy defined")),
    says("", bash(BUILD), bash(TEST, 8)),
    says(
        "Everything builds; lexer and parse pass. One real failure in convert: `hex = 0x1F`.",
        read("src/convert.c"),
        bash("grep -n 'hex\\|zero-led' tests/test_convert.c"),
    ),
    says(
        "tc_get_int calls strtoimax with base 10, so `0x1F` stops at the x and is TC_TYPE. Base 0 "
        "would accept the hexadecimal but also turn `010` into 8, and the test wants 10. So the base "
        "has to be chosen from the prefix.",
        mend("base_of"),
        mend("base"),
    ),
    says(
        "I read the edited part again, then build and test.",
        read("src/convert.c", 44, 42),
        bash(BUILD_AND_TEST),
    ),
    says(
        "tinyconf configures, builds without a warning and passes its three test programs here. What "
        "was wrong:\n\n"
        "1. **Configure**: the tests needed cmocka, which is not installed. tests/check.h now does "
        "the same in plain C99; no test file changed.\n"
        "2. **Compile**: src/store.c used strdup and strndup, which are POSIX and not C99. "
        "tc_text_copy in src/text.c replaces both.\n"
        "3. **Link**: my own omission on the way (declared, not defined), mended.\n"
        "4. **Test**: tc_get_int did not read hexadecimal numbers. It does now; a leading zero still "
        "means nothing.\n\n"
        "include/tinyconf.h is untouched. Not checked: any other compiler than this gcc."
    ),
    Person(
        "Thanks. A question before we go on, please change nothing for it: files from our field "
        "laptops have Windows line ends. Does the parser take CRLF, also after a quoted value and "
        "after a heading? And is the \\r ever part of a value?"
    ),
    says(
        "The lexer decides that. I'll read it, and try it with the built command.",
        read("src/lexer.c"),
        bash(
            "printf '[net]\\r\\nname = eth0\\r\\nnote = \"two words\"\\r\\nempty =\\r\\nlast = 1\\r\\n' > "
            "build/crlf.conf\n"
            "./build/tinyconf check build/crlf.conf && ./build/tinyconf list build/crlf.conf | od -c "
            "| head -20"
        ),
    ),
    says(
        "Yes, CRLF works in all three places, and the \\r is never part of a value:\n\n"
        "- after a heading and after a quoted string, skip_blanks treats \\r as a blank, so the "
        "newline token comes next;\n"
        "- after a bare value, tc_lexer_value strips blanks, tabs and \\r from the right end, also "
        "when the value is empty;\n"
        "- inside a quoted string only the escape `\\r` makes one. A raw \\r between the quotes would "
        "be kept.\n\n"
        "The run above shows it: four entries, and no \\r in the dump. A lone \\r (old Mac) is not a "
        "line end."
    ),
    Person(
        "Good. Now an amendment to rule 1: you may ADD declarations at the end of "
        "include/tinyconf.h. The lines that are there stay byte for byte as they are. Rules 2 and 3 "
        "stand.\n\n"
        "I need it for this: `tc_status tc_write(const tc_conf *conf, FILE *stream);` writes a "
        "configuration that parses back to the same keys and values, and `tinyconf format FILE` "
        "prints it. With tests."
    ),
    says(
        "Understood: additions at the end only. I read the header and the command.",
        read("include/tinyconf.h"),
        read("cli/main.c"),
    ),
    says(
        "FILE is known to the header already, so one declaration is all. Then the writer, its test "
        "and the verb.",
        mend("write declared"),
        write("src/writer.c", "writer without string.h", "writer without escapes"),
        write("tests/test_write.c", "unicode written"),
        edit(
            "tests/CMakeLists.txt",
            "foreach(name convert lexer parse)",
            "foreach(name convert lexer parse write)",
        ),
        mend("format usage"),
        mend("format verb"),
    ),
    says("", bash(f"cmake -S . -B build > build/configure.log && {BUILD}", 2)),
    says("The library does not know its new file yet.", mend("writer built")),
    says("", bash(BUILD, 2)),
    says("And strrchr and memcmp need their header.", mend("writer without string.h")),
    says("", bash(BUILD_AND_TEST, 8)),
    says(
        "The test finds what I left out: a quote or a backslash inside a value has to be escaped "
        "again, else the text we write does not parse. Line ends too. The lexer's table of escapes "
        'says which ones: n r t " \\.',
        mend("writer without escapes"),
    ),
    says("", read("src/writer.c"), bash(BUILD_AND_TEST)),
    says("", bash("./build/tinyconf format tests/data/board.conf | head -40")),
    says(
        "tc_write and `tinyconf format` are in, and what is written reads back the same: plain "
        "values, empty ones, `#`, quotes, backslashes, line ends, several sections.\n\n"
        "One limit you should know: a key without a section can only stand at the top of a file. A "
        "configuration that has `a.b = 1` and then `c = 2`, both outside any section, cannot be "
        "written in that order; tc_write then returns TC_SYNTAX instead of writing something else. "
        "Comments are not kept, since the parser drops them.\n\n"
        "In the header: two lines and a blank one before `#endif`, nothing else."
    ),
    Person(
        "很好！👍 还有一件事：现场的同事要用中文写配置，键和节名也要能用中文"
        "（德文的变音字母也一样），例如：\n\n"
        "[显示]\n标题 = 你好，世界 🌏\ngröße = 12k\n\n"
        "请加一个数据文件 tests/data/unicode.conf 和相应的测试，然后让它通过。"
        "规则不变：头文件里原有的行一个字节也不要动。"
    ),
    says(
        "好的。先看词法分析器怎样判断一个键的字符，同时把数据文件和测试加上，看它现在怎样失败。",
        read("src/lexer.c"),
        write("tests/data/unicode.conf"),
        mend("unicode tested"),
        mend("unicode called"),
        mend("unicode written"),
    ),
    says("", bash(BUILD_AND_TEST, 8)),
    says(
        "和预想的一样：值没有问题，键在第一个中文字节处就停了（unicode.conf 第 2 行第 2 列）。"
        "is_word 只认 ASCII。"
        "UTF-8 里 0x80 以上的字节都属于多字节字符，不会和 `[ ] = #` 混淆，所以放行即可。",
        mend("unicode said"),
        mend("unicode words"),
    ),
    says(
        "",
        bash(BUILD_AND_TEST),
        bash(
            "./build/tinyconf get tests/data/unicode.conf 显示.标题 && "
            "./build/tinyconf size tests/data/unicode.conf 显示.größe && "
            "./build/tinyconf format tests/data/unicode.conf"
        ),
    ),
    says(
        "现在节名、键和值都可以用 UTF-8：`显示.标题` 读出来是「你好，世界 🌏」，`显示.größe` 是 12288，"
        "写出再读回也一样（test_write 里已有这一例）。\n\n"
        "两点说明：解析器不检查 UTF-8 是否合法；"
        "键按字节比较，所以同一个 ö 的组合形式和预组形式是两个不同的键。"
        "头文件没有动。"
    ),
    Person(
        "Perfect. Next the board: a Cortex-A7, hard float, Linux. Write a toolchain file "
        "cmake/armv7.cmake and try whether it configures here. If the cross compiler is missing, "
        "don't work around it, just tell me."
    ),
    says(
        "",
        write("cmake/armv7.cmake"),
        bash("cmake -S . -B build-arm -DCMAKE_TOOLCHAIN_FILE=cmake/armv7.cmake", 1),
    ),
    says("", bash("ls /usr/bin | grep -i 'arm-linux\\|gnueabi'", 1), bash("rm -rf build-arm")),
    says(
        "cmake/armv7.cmake is written, but nothing is proved by it: there is no "
        "arm-linux-gnueabihf-gcc on this machine (nor any other ARM compiler under /usr/bin), so the "
        'configure step ends with "is not a full path and was not found in the PATH". I did not work '
        "around it and removed the half-made build folder.\n\n"
        "What I can do here is look for what would differ on a 32-bit machine: narrowing conversions "
        "and undefined behaviour."
    ),
    Person(
        "Right, CI has the compiler. Then do that: turn on -Wconversion for the library for good, "
        "add an option TINYCONF_UBSAN, and mend what they find. And check that a time like "
        "9223372036854775807h can't wrap around. I suspect it does."
    ),
    says("The warning first, by itself.", mend("conversion"), bash(f"{BUILD} -- -k", 2)),
    says(
        "All are the same few kinds: an int or an unsigned long put into a char on purpose, and the "
        "int of hex_digit (never negative there) into an unsigned long. In each place the range is "
        "known from the line before, so a cast says what is meant. It is one pattern a file.",
        bash(
            "sed -i 's/\\] = \\(code_point\\|(0x\\)/] = (char)\\1/' src/text.c\n"
            "sed -i 's/text, take(lexer)/text, (char)take(lexer)/; s/text, byte)/text, (char)byte)/; "
            "s/+ hex_digit(/+ (unsigned long)hex_digit(/' src/lexer.c\n"
            "grep -n '(char)\\|(unsigned long)' src/text.c src/lexer.c"
        ),
    ),
    says("", bash(BUILD_AND_TEST)),
    says(
        "Clean. Now the sanitizer, in a build folder of its own.",
        mend("sanitizer option"),
        mend("sanitizer flags"),
    ),
    says(
        "",
        bash("cmake -S . -B build-ubsan -DTINYCONF_UBSAN=ON && cmake --build build-ubsan"),
        bash("ctest --test-dir build-ubsan --output-on-failure", 8),
    ),
    says(
        "A true finding: for a key before the first heading, parser.c adds an empty section to the "
        "key, with a null pointer and length 0. memcpy must not get a null pointer, not even for no "
        "bytes, and a compiler may draw conclusions from that.",
        read("src/parser.c", 54, 28),
    ),
    says("", mend("null section")),
    says(
        "",
        bash(
            "cmake --build build-ubsan 2>&1 | grep -v 'Built' && ctest --test-dir build-ubsan "
            "--output-on-failure"
        ),
    ),
    says(
        "UBSan is quiet. It says nothing about the times, though: unsigned arithmetic wraps by "
        "definition. I ask the command itself.",
        bash(
            "printf 'wait = 9223372036854775807h\\nram = 18446744073709551615k\\n' > build/over.conf\n"
            "./build/tinyconf millis build/over.conf wait; ./build/tinyconf size build/over.conf ram"
        ),
    ),
    says(
        "You were right: the time wraps to a negative number and the size to one that looks plausible. Tests "
        "first, then the mend.",
        mend("overflowing sizes"),
        mend("overflowing times"),
        mend("overflowing size checked"),
        mend("overflowing time checked"),
        bash(BUILD_AND_TEST, 8),
    ),
    says(
        "Both fail as they should. `measured` compares the number with the limit before it "
        "multiplies; it has to compare with the limit divided by the factor.",
        mend("overflow"),
    ),
    says("", bash(BUILD_AND_TEST), bash("./build/tinyconf millis build/over.conf wait", 1)),
    says(
        "All three are done:\n\n"
        "- -Wconversion is on for the library for good. It found narrowing in src/text.c and "
        "src/lexer.c, all of it intended; casts say so now.\n"
        "- TINYCONF_UBSAN (off by default) found one real fault: memcpy with a null pointer for keys "
        "before the first heading. Mended in src/parser.c.\n"
        "- Your suspicion was right. 9223372036854775807h gave -3600000 ms, and "
        "18446744073709551615k a size that looked fine. Both are TC_RANGE now, with tests.\n\n"
        "Not checked: a real 32-bit run."
    ),
    Person(
        "Very good. For the boards without a debugger I want a soak test: 500 random configurations, "
        "written and read back, one line a round in the log so that we can see where it stopped. "
        "Same seed every time. Run it verbosely and show me the whole log, I'll paste it into the "
        "ticket."
    ),
    says(
        "A small generator with a fixed seed, no library needed.",
        write("tests/test_soak.c"),
        edit(
            "tests/CMakeLists.txt",
            "foreach(name convert lexer parse write)",
            "foreach(name convert lexer parse write soak)",
        ),
    ),
    says("", bash(f"cmake -S . -B build > build/configure.log && {BUILD} 2>&1 | tail -4")),
    says("", bash("ctest --test-dir build -R soak --verbose")),
    says(
        "500 rounds, 500 the same; the log above is complete, from round 001 to round 500. The seed "
        "is fixed (20), so a board must print the very same lines: the first one that differs is the "
        "place to look."
    ),
    Person(
        "Last round. A release build from clean with the full compile lines in the log (CI wants to "
        "compare flags), CHANGES.md for 0.3.0, the line for the board in the README, and show me "
        "that the old lines of the header are untouched."
    ),
    says(
        "",
        bash(
            "cmake -S . -B build-release -DCMAKE_BUILD_TYPE=Release > build/release.log && "
            "cmake --build build-release --clean-first --verbose"
        ),
    ),
    says(
        "",
        bash("ctest --test-dir build-release --output-on-failure"),
        bash("diff build/tinyconf.h.first include/tinyconf.h", 1),
        read("include/tinyconf.h", 58),
    ),
    says(
        "diff ends with 1 because there is a difference, and it is the allowed one: lines added "
        "before `#endif`, none removed or changed. Now the two texts.",
        write("CHANGES.md"),
        mend("board in readme"),
    ),
    says("", read("README.md"), read("CHANGES.md"), bash("ls -d build*; rm -rf build-ubsan build-release")),
    says(
        "tinyconf 0.3.0 is ready from my side:\n\n"
        "- **Release build**: from clean, no warning, five of five test programs pass. The compile "
        "lines are in the log above: `-O3 -DNDEBUG -Wall -Wextra -Wpedantic -Wconversion -Werror "
        "-std=c99` for the library.\n"
        "- **Header**: diff shows additions only (the declaration of tc_write with its comment). The "
        "60 old lines are the same bytes.\n"
        "- **Texts**: CHANGES.md is new, README.md has the line for the board.\n\n"
        "Open: the ARM build has never run (no cross compiler here). CI should configure with "
        "cmake/armv7.cmake and run test_soak on the board; its log must equal the one above."
    ),
)
