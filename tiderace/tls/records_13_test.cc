#include "tiderace/tls/records_13.h"
