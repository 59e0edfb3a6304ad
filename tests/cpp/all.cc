/* SPDX-License-Identifier: MIT */
/* all.cc - the tests of this folder in one program, which costs less to compile than each alone.
 * all NAME [ARGUMENT…] runs one. */
#include "json.hpp"
#include "shared.hpp"

/* What the tests include must be here, too: within a namespace nothing may be left of it. */
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <random>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_set>
#include <vector>

namespace answers {
#include "answers.cc"
}
namespace cancel {
#include "cancel.cc"
}
namespace generate {
#include "generate.cc"
}
namespace opens {
#include "opens.cc"
}
namespace vectors {
#include "vectors.cc"
}

int main(int argc, char **argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    if (name == "answers")
        return answers::main();
    if (name == "cancel")
        return cancel::main();
    if (name == "generate")
        return generate::main();
    if (name == "opens")
        return opens::main();
    if (name == "vectors")
        return vectors::main(argc - 1, argv + 1);
    tap::bail("no test has the name " + name);
}
