"""Ranking metrics under named conventions: frames in, numbers out. `concord` names what is public."""
