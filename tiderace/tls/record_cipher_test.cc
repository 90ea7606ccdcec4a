#include "tiderace/tls/record_cipher.h"
