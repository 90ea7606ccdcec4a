#include "server/trust.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "server/terminal.h"
#include "tiderace/base/calendar.h"

namespace tiderace::server {
namespace {

// Where a system keeps the authorities that its owner added, and what makes them count.
struct SystemStore {
    const char* folder;
    const char* file;
    const char* command;
};
// Debian and Alpine, Fedora and RHEL, Arch. The first whose folder is there is this system's.
constexpr std::array system_stores{
    SystemStore{"/usr/local/share/ca-certificates", "tiderace.crt", "sudo update-ca-certificates"},
    SystemStore{"/etc/pki/ca-trust/source/anchors", "tiderace.pem", "sudo update-ca-trust"},
    SystemStore{"/etc/ca-certificates/trust-source/anchors", "tiderace.pem",
                "sudo update-ca-trust"},
};
constexpr const char* keychain_tool = "/usr/bin/security";

// Chrome on Linux reads its own database and not the system's store, so there are two commands; on
// macOS both read the keychain.
std::string system_text(const std::string& authority,
                        const std::function<bool(const std::string&)>& exists) {
    // macOS: one store for the system and its browsers.
    if (exists(keychain_tool)) {
        return "Safari, Chrome and this system:\n  security add-trusted-cert -r trustRoot "
               "-k ~/Library/Keychains/login.keychain-db " +
               authority + "\n\n";
    }
    const std::string text =
        "Chrome and Chromium (certutil is in libnss3-tools or nss-tools):\n"
        "  certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n tiderace -i " +
        authority + "\n\n";
    for (const auto& [folder, file, command] : system_stores) {
        if (!exists(folder)) continue;
        return text + "This system (curl, git, most programs):\n  sudo cp " + authority + " " +
               folder + "/" + file + "\n  " + command + "\n\n";
    }
    return text;
}

std::string date_text(UnixSeconds time) {
    char room[rfc3339_bytes_max];
    return std::string(write_rfc3339(room, time, 1).substr(0, 10));
}

// In lines of at most 80 columns, each after the first below its beginning.
void add_list(std::string& text, std::string_view label, const std::vector<std::string>& words) {
    constexpr std::size_t indent = 14;
    constexpr std::size_t columns_max = 80;
    if (words.empty()) return;
    std::string line = "  " + std::string(label);
    line.resize(std::max(indent, line.size() + 1), ' ');
    for (const std::string& word : words) {
        const bool is_last = &word == &words.back();
        if (line.size() > indent && line.size() + word.size() + 2 > columns_max) {
            text.append(line.substr(0, line.find_last_not_of(' ') + 1)).append("\n");
            line.assign(indent, ' ');
        }
        line.append(word).append(is_last ? "" : ", ");
    }
    text.append(line).append("\n");
}

// Everything its key can do on a device that trusts it: the meaning of trusting it.
std::string power_text(const tls::SelfSigned& certificate) {
    std::vector<std::string> hosts = certificate.authority_names.hosts;
    // It has a line of its own, with what is below it.
    std::erase(hosts, "localhost");
    std::vector<std::string> addresses = certificate.authority_names.addresses;
    std::string text =
        "On devices that trust it, its key can make certificates of servers, until " +
        date_text(certificate.authority_ends) + ",\nwith these names and addresses:\n\n";
    add_list(text, "any of", {"localhost and what is below it (app.localhost)"});
    add_list(text, "exactly", hosts);
    add_list(text, "exactly", addresses);
    add_list(text, "any of", certificate.private_ranges);
    return text +
           "\nIt can make none for another name or address, for a name below the exact ones,\n"
           "for anything but servers, or for a further authority. Anyone with the key can\n"
           "pass for these, also where another machine has the name or private address.\n";
}

}  // namespace

std::string names_text(const tls::LocalNames& names) {
    std::string text;
    for (const auto* list : {&names.hosts, &names.addresses}) {
        for (const std::string& name : *list) {
            // "localhost" stands for them.
            if (name == "127.0.0.1" || name == "::1") continue;
            if (!text.empty()) text += ", ";
            text += name;
        }
    }
    return text;
}

std::string trust_text(const tls::SelfSigned& certificate,
                       const std::function<bool(const std::string&)>& exists) {
    // The lines are meant to be copied into a shell, and a home may have a space in its name.
    const std::string authority = shell_word(certificate.authority_file);
    const std::string& print = certificate.authority_fingerprint;
    // Behind a colon, so that each of the two lines has whole bytes.
    const std::size_t half = std::min(print.size(), print.size() / 2 + 1);
    return "The certificate of --tls-self-signed is signed by an authority of this machine.\n" +
           power_text(certificate) + "\n  " + certificate.authority_file + "\n  SHA-256 " +
           print.substr(0, half) + "\n          " + print.substr(half) + "\n\n" +
           system_text(authority, exists) +
           "Firefox: Settings, Privacy & Security, View Certificates, Authorities, Import.\n"
           "A phone: send it the file, install it, and switch trust on in its settings.\n"
           "One command: curl --cacert " +
           authority +
           " https://localhost:8443/\n\n"
           "To be rid of it, delete the folder; the next start makes another, which no\n"
           "device trusts yet. The key beside it signs: never send that one.\n";
}

std::string trust_text(const tls::SelfSigned& certificate) {
    return trust_text(certificate, [](const std::string& path) {
        std::error_code fault;
        return std::filesystem::exists(path, fault);
    });
}

}  // namespace tiderace::server
