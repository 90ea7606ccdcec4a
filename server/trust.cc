#include "server/trust.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "server/lan_address.h"

namespace tiderace::server {
namespace {

// Where a system keeps the authorities that its owner added, and what makes them count.
struct SystemStore {
    const char* folder;
    const char* file;
    const char* command;
};
constexpr std::array system_stores{
    SystemStore{"/usr/local/share/ca-certificates", "tiderace.crt", "sudo update-ca-certificates"},
    SystemStore{"/etc/pki/ca-trust/source/anchors", "tiderace.pem", "sudo update-ca-trust"},
    SystemStore{"/etc/ca-certificates/trust-source/anchors", "tiderace.pem",
                "sudo update-ca-trust"},
};
constexpr const char* keychain_tool = "/usr/bin/security";

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_' || c == '/';
}

void add_system(std::string& text, const std::string& authority,
                const std::function<bool(const std::string&)>& exists) {
    if (exists(keychain_tool)) {
        text.append("Safari, Chrome and this system:\n  security add-trusted-cert -r trustRoot ")
            .append("-k ~/Library/Keychains/login.keychain-db ")
            .append(authority)
            .append("\n\n");
        return;
    }
    text.append("Chrome and Chromium (certutil is in libnss3-tools or nss-tools):\n")
        .append("  certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n tiderace -i ")
        .append(authority)
        .append("\n\n");
    for (const SystemStore& store : system_stores) {
        if (!exists(store.folder)) continue;
        text.append("This system (curl, git, most programs):\n  sudo cp ")
            .append(authority)
            .append(" ")
            .append(store.folder)
            .append("/")
            .append(store.file)
            .append("\n  ")
            .append(store.command)
            .append("\n\n");
        return;
    }
}

}  // namespace

Result<tls::SelfSigned> local_certificate() {
    auto folder = tls::self_signed_folder();
    if (!folder) return fail(folder.error());
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return tls::self_signed(*folder, host.data(), lan_addresses(interface_addresses()),
                            std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

std::string shell_word(const std::string& text) {
    if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'') {
            quoted += "'\\''";
        } else {
            quoted += c;
        }
    }
    return quoted += '\'';
}

std::string names_text(const tls::LocalNames& names) {
    std::string text;
    for (const auto* list : {&names.hosts, &names.addresses}) {
        for (const std::string& name : *list) {
            if (name == "127.0.0.1" || name == "::1") continue;
            if (!text.empty()) text += ", ";
            text += name;
        }
    }
    return text;
}

std::string trust_text(const tls::SelfSigned& certificate,
                       const std::function<bool(const std::string&)>& exists) {
    const std::string authority = shell_word(certificate.authority_file);
    const std::string& print = certificate.authority_fingerprint;
    const std::size_t half = std::min(print.size(), print.size() / 2 + 1);
    std::string text;
    text.append("The certificate of --tls-self-signed is signed by an authority of this machine.\n")
        .append("Trust it once; it may sign for ")
        .append(names_text(certificate.names))
        .append("\nand any private address, and for nothing else on the Internet.\n\n  ")
        .append(certificate.authority_file)
        .append("\n  SHA-256 ")
        .append(print.substr(0, half))
        .append("\n          ")
        .append(print.substr(half))
        .append("\n\n");
    add_system(text, authority, exists);
    text.append("Firefox: Settings, Privacy & Security, View Certificates, Authorities, Import.\n")
        .append("A phone: send it the file, install it, and switch trust on in its settings.\n")
        .append("One command: curl --cacert ")
        .append(authority)
        .append(" https://localhost:8443/\n\n")
        .append("To be rid of it, delete the folder; the next start makes another, which nobody\n")
        .append("trusts yet. The key beside it signs: never send that one.\n");
    return text;
}

std::string trust_text(const tls::SelfSigned& certificate) {
    return trust_text(certificate, [](const std::string& path) {
        std::error_code fault;
        return std::filesystem::exists(path, fault);
    });
}

}  // namespace tiderace::server
