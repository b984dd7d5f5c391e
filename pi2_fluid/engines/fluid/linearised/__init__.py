"""The linear fluid: tangents of all laws where each stage of the schedule rests.

Of constant delays, so that a step is a few products of small matrices.
"""
