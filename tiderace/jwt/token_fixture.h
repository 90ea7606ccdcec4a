// tidy: table
// Tokens and public keys for the tests, each checked by PyJWT 2.15.
#pragma once

#include <string_view>

namespace tiderace::jwt::tokens {

// RFC 7515, A.1 to A.3, and RFC 8037, A.2 and A.4. Their claims: iss "joe", exp 1300819380.
inline constexpr std::string_view rfc_hs256_secret_base64url =
    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CA"
    "ow";
inline constexpr std::string_view rfc_hs256 =
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODA"
    "sDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_w"
    "W1gFWFOEjXk";
inline constexpr std::string_view rfc_rsa_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAofgWCuLjybRlzo0tZWJj\n"
    "NiuSfb4p4fAkd/wWJcyQoTbji9k0l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEz\n"
    "P1Pt0Bm4d4QlL+yRT+SFd2lZS+pCgNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo\n"
    "9wGzjb/7OMg0LOL+bSf63kpaSHSXndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTB\n"
    "EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxX\n"
    "FvUK+DWNmoudF8NAco9/h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXp\n"
    "oQIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view rfc_rs256 =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGF"
    "tcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu"
    "3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdi"
    "uB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--x"
    "i12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5A"
    "XLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
inline constexpr std::string_view rfc_ec_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7\n"
    "6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view rfc_es256 =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGF"
    "tcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw"
    "5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
inline constexpr std::string_view rfc_ed25519_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
// A token of a text that is no JSON.
inline constexpr std::string_view rfc_eddsa =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7"
    "-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

// Made by PyJWT 2.15. Their claims: sub "ann", iss "https://login.example.org", aud ["shop",
// "mail"], nbf and iat 1000000000, exp 4000000000, scope "read". rs256 has kid "r1".
inline constexpr std::string_view secret = "0123456789abcdef0123456789abcdef";
inline constexpr std::string_view rsa_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAkQqC7BtJil3Wgiq/ZDi7\n"
    "A9F4u1ZUt4eK2Hujxte638X1QrJKTlrzuQzEObrvgdcpfl7gxqM7IyMKMNDDQ89x\n"
    "f4BDliFASWXiFf4A6l2hirViH/NERBVTijKwcjlBnZVTiUVjBnJKohogzTEzGjAz\n"
    "5uszuq6PfU6mBJdy+MXcLOXXj9YkwwyTtZ/PY5JEfGu/LZkUa8zzSGo0hH6xyhSq\n"
    "lDb9csbwW0Oi91BXDPSCAE7mwWdDgfd8fnK6hudlM5SoaYQVyEe3TkNx1weOJ4YO\n"
    "o7LhWYUoxYZV19Qf12ojXgIZjSyUpYfLLhDUIelBbepQbYwd+FFAKBtAPRPQ9nbL\n"
    "uwIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view ec_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE5Pb3akCPc+TkJkCiy6uND/kfDqhb\n"
    "XcY8xFug6crZ8MCUfu40uK9VL5pebP+xVsKL4HIZ/4jyr/1C+uxbVh6zzg==\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view ed25519_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAUHW10eFnfh/l6l50GUaX4EWz/K5oeFXcItGF9iEPO9g=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view rsa_1024_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDsPYq9s1QltntVNsEZ/UTkKV/l\n"
    "cH8VghFgq7cTfrmDOfSl/5fgwTGWVJOHPaEJz8Jw4c2MeLCUmnmEJL0659Y76tmf\n"
    "gIqD/NMFwHW++OwrTYsuAUZVqAsqXHpDSIzqmtVxtti4vNmurvb6Yag1nE+J3stD\n"
    "Z5Dz2UKebQHp625FMwIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view p384_key =
    "-----BEGIN PUBLIC KEY-----\n"
    "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEBM+TLdb8eMFIdOJpAmuSNguaWwwVzR6Q\n"
    "CHo5CHuY07JWsHy4HS8gbnorK/KYPOjWK/zdiHfH3jXg5IR39lTXJ1Vspb3uND2p\n"
    "9I5I1Uqu5y8TORxq5z4zkLBBiXznYP/s\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view hs256 =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJodHRwczovL2xvZ2luLmV"
    "4YW1wbGUub3JnIiwiYXVkIjpbInNob3AiLCJtYWlsIl0sImV4cCI6NDAwMDAwMDAwMCwibmJmIjoxMDAwMDA"
    "wMDAwLCJpYXQiOjEwMDAwMDAwMDAsInNjb3BlIjoicmVhZCJ9.VYXIP16n8H9yMrpbwcPvtS7r7GAMO9cgTA"
    "_YDjhJ7fw";
inline constexpr std::string_view rs256 =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InIxIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbm4iLCJpc3MiOiJodHRw"
    "czovL2xvZ2luLmV4YW1wbGUub3JnIiwiYXVkIjpbInNob3AiLCJtYWlsIl0sImV4cCI6NDAwMDAwMDAwMCwi"
    "bmJmIjoxMDAwMDAwMDAwLCJpYXQiOjEwMDAwMDAwMDAsInNjb3BlIjoicmVhZCJ9.XiP4CUZlT5EZFaeUidG"
    "TtPXPXecS6xsNnRCT0ZN-sUByRPe7fvcDoQu0sF7nmSEvbTlu2p090DGzxX2VKYscKHUWp2eIVz7CApw22lC"
    "MSvK8rcb_EeHlVxLey9qb2wy8EVkAiYUz88Vzlm26oUVGicOdngF2ONd_Fc1VN7h7sd4O1wpuR03aqMnkvwE"
    "4D0CtazQOQYIFkl_pIUvrz01ORpnyN2k2Bk8TW05RUtQmvd_EQ6k3OJXGNzIbFq8CYZMQbx6Q9APftxrNRZB"
    "7COCB_tiRM4JX0qtyqgJUqBYZ1ilk87AjX2TF1V7F8x8L9HMD2xq1CJMO-0GYbRi-rOkK1A";
inline constexpr std::string_view es256 =
    "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJodHRwczovL2xvZ2luLmV"
    "4YW1wbGUub3JnIiwiYXVkIjpbInNob3AiLCJtYWlsIl0sImV4cCI6NDAwMDAwMDAwMCwibmJmIjoxMDAwMDA"
    "wMDAwLCJpYXQiOjEwMDAwMDAwMDAsInNjb3BlIjoicmVhZCJ9.EaP52j80tjBkgcAQWILwV1WRh6SD-ni06X"
    "hF6NYsOUaNTKkgL0OcqsU98KfpifZaTTLV8mCDShD9OWXxiLTu9w";
inline constexpr std::string_view eddsa =
    "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJodHRwczovL2xvZ2luLmV"
    "4YW1wbGUub3JnIiwiYXVkIjpbInNob3AiLCJtYWlsIl0sImV4cCI6NDAwMDAwMDAwMCwibmJmIjoxMDAwMDA"
    "wMDAwLCJpYXQiOjEwMDAwMDAwMDAsInNjb3BlIjoicmVhZCJ9.e1Q_PoAvHqMjtxSJk5vRqbPOG3kao4uBPZ"
    "Ty-oHvknSfJ0SdG0tSRXItEUojMgFxrth4NVtgMa_wlzNfRK3oAg";
inline constexpr std::string_view ps256 =
    "eyJhbGciOiJQUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJodHRwczovL2xvZ2luLmV"
    "4YW1wbGUub3JnIiwiYXVkIjpbInNob3AiLCJtYWlsIl0sImV4cCI6NDAwMDAwMDAwMCwibmJmIjoxMDAwMDA"
    "wMDAwLCJpYXQiOjEwMDAwMDAwMDAsInNjb3BlIjoicmVhZCJ9.DMwzBLfUavGsfJtdjI0WGlDp8SqVOYJX0g"
    "gxO_azHE77LsYzmvpKwreCFkb7wCR1W4Wx36BmqR8Lm5N44OtiMvodJ67NMy7vZEs6pBBySB2hDpRZwzWfSV"
    "RqNslgT5y5XB12odwtgMMgeK7Omizmf19J1sDEn2mUC9w8nkeqNQSGFt1_AKFbN2512T-_n7G2Gk9TPfOHjj"
    "QFdqRVTwMbeI9qI0HzNZ1OJsVXMvtZ5EOzBtMIE2fzOPS6YhFsj46kJnKxSLdGhA3sOX22VVpmKsSBpaVneK"
    "WLBpLd94ZelbsNzFNsjFSbPOUDOcY31YUxAoRzheKBGpCuIERkuh912A";
// Without a signature; and with rsa_key as the secret of an HMAC.
inline constexpr std::string_view none =
    "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbm4iLCJpc3MiOiJodHRwczovL2xvZ2luLmV4"
    "YW1wbGUub3JnIiwiYXVkIjpbInNob3AiLCJtYWlsIl0sImV4cCI6NDAwMDAwMDAwMCwibmJmIjoxMDAwMDAw"
    "MDAwLCJpYXQiOjEwMDAwMDAwMDAsInNjb3BlIjoicmVhZCJ9.";
inline constexpr std::string_view confused =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiAiYW5uIiwgImlzcyI6ICJodHRwczovL2xvZ2l"
    "uLmV4YW1wbGUub3JnIiwgImF1ZCI6IFsic2hvcCIsICJtYWlsIl0sICJleHAiOiA0MDAwMDAwMDAwLCAibmJ"
    "mIjogMTAwMDAwMDAwMCwgImlhdCI6IDEwMDAwMDAwMDAsICJzY29wZSI6ICJyZWFkIn0.QJ6wnmKUKZFNNGD"
    "EFgjJhyCcYT5MuudQqqC8RVZskug";

}  // namespace tiderace::jwt::tokens
