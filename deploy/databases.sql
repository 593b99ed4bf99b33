-- One database for each service that keeps something.
CREATE DATABASE booking;
CREATE DATABASE course;
CREATE DATABASE notify;
