package compile
