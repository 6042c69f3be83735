#!/bin/sh
# Stands for llama-bench: notes how it was called beside the model and prints
# speeds that follow from its options. A model named bad.gguf makes it fail,
# one named odd.gguf makes it print something else.
if [ "$*" = --help ]; then
	echo "  -d, --n-depth <n>"
	exit 0
fi
said=$*
depths=0
while [ $# -gt 1 ]; do
	case $1 in
	-m) model=$2 ;;
	-p) prompt=$2 ;;
	-n) decode=$2 ;;
	-d) depths=$2 ;;
	esac
	shift 2
done
echo "${said#-m "$model" }" >>"$(dirname "$model")/calls"
case $model in
*bad.gguf)
	echo "loading" >&2
	echo "error: cannot load model" >&2
	exit 3
	;;
*odd.gguf)
	echo "| model | test | t/s |"
	exit 0
	;;
esac
echo "["
for depth in $(echo "$depths" | tr , ' '); do
	[ "$prompt" = 0 ] || echo "  {\"build_commit\": \"abc123\", \"n_prompt\": $prompt, \"n_gen\": 0, \"n_depth\": $depth, \"avg_ts\": 150.0, \"samples_ts\": [100.0, 200.0]},"
	[ "$decode" = 0 ] || echo "  {\"build_commit\": \"abc123\", \"n_prompt\": 0, \"n_gen\": $decode, \"n_depth\": $depth, \"avg_ts\": 10.0},"
done
echo "  {\"build_commit\": \"abc123\", \"n_prompt\": 1, \"n_gen\": 1, \"n_depth\": 0, \"avg_ts\": 5.0}"
echo "]"
