// An audio worklet whose module imports another.
import '{{tcp1}}/hit?audio';
