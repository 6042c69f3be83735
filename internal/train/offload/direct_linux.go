package offload

import "golang.org/x/sys/unix"

const directFlag = unix.O_DIRECT
