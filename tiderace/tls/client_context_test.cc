#include "tiderace/tls/client_context.h"
