message(FATAL_ERROR "the outside project's own file was taken for Tiderace's")
