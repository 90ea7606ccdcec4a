"""A Conan 2 recipe: the library, with what it needs from the system's packages.

    conan create packaging/conan

The package has the files of `cmake --install`: a project finds it with find_package(tiderace).
"""

import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.system.package_manager import Apk, Apt, Dnf

DATABASES = ("sqlite", "postgres", "mariadb")


class Tiderace(ConanFile):
    name = "tiderace"
    description = "A network library in C++23"
    license = "MIT"
    topics = ("network", "http", "websocket", "server")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "tls": [True, False]} | {
        name: [True, False] for name in DATABASES
    }
    default_options = {"shared": False, "tls": True} | {name: False for name in DATABASES}

    def source_tree(self):
        return pathlib.Path(self.recipe_folder).parent.parent

    def set_version(self):
        header = (self.source_tree() / "tiderace/version.h").read_text()
        self.version = re.search(r'#define TIDERACE_VERSION_TEXT "(.*)"', header)[1]

    def export_sources(self):
        for name in ("CMakeLists.txt", "LICENSE", "cmake/*", "tiderace/*"):
            copy(self, name, self.source_tree(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def system_requirements(self):
        """Checked; installed with -c tools.system.package_manager:mode=install."""
        apt = ["pkg-config", "zlib1g-dev", "libbrotli-dev", "libzstd-dev", "libmd4c-dev"]
        apt += ["liburing-dev", "libsimdjson-dev"] + ["libssl-dev"] * bool(self.options.tls)
        dnf = ["pkgconf-pkg-config", "zlib-devel", "brotli-devel", "libzstd-devel", "md4c-devel"]
        dnf += ["liburing-devel", "simdjson-devel"] + ["openssl-devel"] * bool(self.options.tls)
        apk = ["pkgconf", "zlib-dev", "brotli-dev", "zstd-dev", "md4c-dev", "linux-headers"]
        apk += ["liburing-dev", "simdjson-dev"] + ["openssl-dev"] * bool(self.options.tls)
        clients = {
            "sqlite": ("libsqlite3-dev", "sqlite-devel", "sqlite-dev"),
            "postgres": ("libpq-dev", "libpq-devel", "libpq-dev"),
            "mariadb": ("libmariadb-dev", "mariadb-connector-c-devel", "mariadb-connector-c-dev"),
        }
        for name in DATABASES:
            if self.options.get_safe(name):
                for packages, client in zip((apt, dnf, apk), clients[name]):
                    packages.append(client)
        for manager, packages in ((Apt, apt), (Dnf, dnf), (Apk, apk)):
            manager(self).install(packages, update=True, check=True)

    def generate(self):
        tools = CMakeToolchain(self)
        for name in ("TESTS", "PROGRAMS"):
            tools.cache_variables[f"TIDERACE_{name}"] = False
        tools.cache_variables["TIDERACE_INSTALL"] = True
        tools.cache_variables["TIDERACE_TLS"] = bool(self.options.tls)
        for name in DATABASES:
            chosen = "ON" if self.options.get_safe(name) else "OFF"
            tools.cache_variables[f"TIDERACE_{name.upper()}"] = chosen
        tools.cache_variables["CMAKE_UNITY_BUILD"] = True
        tools.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="tiderace_library")

    def package(self):
        CMake(self).install(component="library")

    def package_info(self):
        # Its own files say what to link; Conan adds none.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/tiderace"]
        self.cpp_info.libs = []
