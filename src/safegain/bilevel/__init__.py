"""The paper, formula by formula: two levels, their derivatives, the outer loop and the choice of a safe iterate."""
