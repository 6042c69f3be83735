package durable

// removesOpen reports whether open files can be removed and renamed.
const removesOpen = false
