#include "tiderace/tls/server_context.h"
